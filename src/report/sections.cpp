#include "report/sections.h"

#include <algorithm>

#include "report/figures.h"

namespace takt::report {
namespace {

using measure::Distribution;
using measure::Group;

Table facts_table(const std::vector<Fact>& facts) {
  Table table{{"what", "value"}, {}};
  for (const auto& fact : facts) table.rows.push_back({fact.name, fact.value});
  return table;
}

std::string lengths_text(const Distribution& tokens) {
  if (tokens.samples == 0) return "not told";
  std::string text = "mean " + number_text(tokens.mean);
  if (tokens.quantiles[0]) text += ", p50 " + number_text(*tokens.quantiles[0]);
  if (tokens.quantiles[3]) text += ", p99 " + number_text(*tokens.quantiles[3]);
  return text + ", " + number_text(tokens.least) + " to " + number_text(tokens.most);
}

std::string targets_text(const measure::Targets& targets) {
  std::string text;
  const auto add = [&](const char* name, const std::optional<Duration>& target) {
    if (target) text += (text.empty() ? "" : ", ") + std::string(name) + " " + seconds_text(to_seconds(*target));
  };
  add("TTFT", targets.ttft);
  add("worst gap", targets.itl);
  add("TPOT", targets.tpot);
  add("E2E", targets.end_to_end);
  return text.empty() ? "none" : text;
}

void say_capacity(const RunReport& report, std::vector<std::string>& say) {
  const std::string wanted = share_text(report.wanted_attainment) + " attainment";
  if (report.capacity_stopped_at)
    say.push_back("STOPPED: no run at " + number_text(*report.capacity_stopped_at) +
                  " requests/s was valid, also not the second one; the search ended there.");
  const bool any_valid =
      std::any_of(report.trials.begin(), report.trials.end(), [](const auto& trial) { return trial.valid; });
  if (report.capacity && !report.capacity_is_bounded) {
    say.push_back("Capacity: more than " + number_text(*report.capacity) + " requests/s. Every valid run had " +
                  wanted + ": the search ended before a miss. The figures below are those at that rate.");
  } else if (report.capacity) {
    say.push_back("Capacity: " + number_text(*report.capacity) + " requests/s with at least " + wanted +
                  " (95 % interval " + number_text(report.capacity_interval.low) + " to " +
                  number_text(report.capacity_interval.high) + "). The figures below are those at that rate.");
  } else if (any_valid) {
    say.push_back("No rate that was tried had " + wanted + ".");
  } else {
    say.emplace_back("Capacity: not known, since no run of the search was valid.");
  }
}

Section summary(const RunReport& report) {
  const auto& verdict = report.verdict;
  const auto& all = verdict.overall;
  Section section{"Verdict", {}, {}};
  auto& say = section.sentences;
  if (report.partial)
    say.emplace_back("PARTIAL: the run was stopped before its end; what was measured until then is here.");
  for (const auto& fault : verdict.faults) say.push_back("NOT VALID: " + fault + ".");
  if (verdict.saturation.saturated) {
    say.push_back(
        "SATURATED: requests in flight and the time to first token rose all along (" +
        number_text(verdict.saturation.in_flight_growth) + " and " + number_text(verdict.saturation.ttft_growth) +
        " times from the first third to the last), so latencies tell the length of the run and nothing else.");
  }
  if (!report.trials.empty()) say_capacity(report, say);
  if (const auto attainment = all.goodput.attainment(); attainment && verdict.window_seconds > 0.0) {
    const auto window = from_seconds(verdict.window_seconds);
    say.push_back("Goodput " + number_text(all.goodput.requests_per_second(window)) + " requests/s and " +
                  number_text(all.goodput.tokens_per_second(window)) + " tokens/s, of " +
                  number_text(verdict.offered_rate) + " requests/s offered: " + share_text(*attainment) +
                  " met all their targets (95 % interval " + share_text(all.attainment.low) + " to " +
                  share_text(all.attainment.high) + ").");
  }
  std::string speed = number_text(verdict.output_tokens_per_second) + " output tokens/s in total";
  speed += all.user_speed.samples == 0 ? "; no answer had two tokens, so there is no speed of a single one"
           : all.user_speed.quantiles[0]
               ? "; a single answer ran at " + number_text(*all.user_speed.quantiles[0]) + " tokens/s (median)"
               : "; a single answer ran at " + number_text(all.user_speed.mean) + " tokens/s (mean)";
  say.push_back(speed + ".");
  for (const auto& warning : report.warnings) say.push_back("Note: " + warning + ".");
  return section;
}

Section comparison_record(const RunReport& report) {
  const auto& all = report.verdict.overall;
  Section section{"What a comparison must record", {}, facts_table(report.load)};
  auto& rows = section.table.rows;
  rows.push_back({"prompt lengths (tokens, realised)", lengths_text(all.prompt_tokens)});
  rows.push_back({"answer lengths (tokens, realised)", lengths_text(all.output_tokens)});
  if (all.counted > 0) {
    rows.push_back({"prompts of exactly the length asked for",
                    share_text(static_cast<double>(all.prompts_as_asked) / static_cast<double>(all.counted))});
    rows.push_back({"answers of exactly the length asked for",
                    share_text(static_cast<double>(all.outputs_as_asked) / static_cast<double>(all.counted))});
  }
  for (const auto& fact : report.server) rows.push_back({fact.name, fact.value});
  for (const auto& fact : report.generator) rows.push_back({fact.name, fact.value});
  rows.push_back({"measured window", seconds_text(report.verdict.window_seconds)});
  rows.push_back({"started", report.started});
  rows.push_back({"load generator", report.build});
  return section;
}

std::vector<const Group*> groups_of(const RunReport& report) {
  std::vector<const Group*> groups{&report.verdict.overall};
  if (report.verdict.classes.size() > 1) {
    for (const auto& one : report.verdict.classes) groups.push_back(&one);
  }
  for (const auto& one : report.verdict.applications) groups.push_back(&one);
  return groups;
}

Section goodput_section(const RunReport& report) {
  Section section{"Goodput",
                  {},
                  {{"requests", "targets", "offered", "met all", "attainment", "95 % interval", "requests/s",
                    "tokens/s", "cancelled", "cache hits", "preemptions"},
                   {}}};
  const auto window = from_seconds(report.verdict.window_seconds);
  for (const auto* group : groups_of(report)) {
    const auto& goodput = group->goodput;
    const auto attainment = goodput.attainment();
    const bool has_window = window > Duration(0);
    const auto hits = group->prefix_hit_rate();
    section.table.rows.push_back(
        {group->name, targets_text(group->targets), count_text(goodput.offered), count_text(goodput.met),
         attainment ? share_text(*attainment) : "n/a",
         attainment ? share_text(group->attainment.low) + " to " + share_text(group->attainment.high) : "n/a",
         has_window ? number_text(goodput.requests_per_second(window)) : "n/a",
         has_window ? number_text(goodput.tokens_per_second(window)) : "n/a", count_text(goodput.cancelled),
         hits ? share_text(*hits) : "not told", group->preemptions ? count_text(*group->preemptions) : "not told"});
  }
  section.sentences.emplace_back(
      "Over all offered requests: failed, refused and expired ones are misses; those that their sender cancelled are "
      "left "
      "out and counted.");
  return section;
}

void add_latency(Table& table, const std::string& group, const char* name, const Distribution& values) {
  if (values.samples == 0) return;
  std::vector<std::string> row{group, name, count_text(values.samples), seconds_text(values.mean)};
  for (std::size_t i = 0; i < values.quantiles.size(); ++i)
    row.push_back(seconds_text(values.quantiles[i], values.intervals[i]));
  row.push_back(seconds_text(values.most));
  table.rows.push_back(std::move(row));
}

Section latency_section(const RunReport& report) {
  Section section{"Latency", {}, {{"requests", "what", "samples", "mean", "p50", "p90", "p95", "p99", "most"}, {}}};
  for (const auto* group : groups_of(report)) {
    auto& table = section.table;
    add_latency(table, group->name, "TTFT", group->ttft);
    add_latency(table, group->name, "TTFT from sending", group->ttft_from_send);
    add_latency(table, group->name, "ITL, pooled", group->itl);
    add_latency(table, group->name, "worst gap of an answer", group->worst_gap);
    add_latency(table, group->name, "TPOT", group->tpot);
    add_latency(table, group->name, "NTPOT", group->ntpot);
    add_latency(table, group->name, "E2E", group->end_to_end);
    add_latency(table, group->name, "queue (the server says)", group->queue);
  }
  section.sentences.emplace_back(
      "TTFT: first non-empty token - scheduled arrival. ITL: every gap between tokens as received. TPOT: (last - "
      "first) / "
      "(n - 1). NTPOT: E2E / n. E2E: last token - scheduled arrival. In brackets: 95 % intervals. n/a: fewer than ten "
      "samples lie beyond the percentile.");
  return section;
}

Section lengths_section(const std::string& heading, const std::vector<Group>& quartiles) {
  Section section{
      heading,
      {},
      {{"tokens", "requests", "attainment", "TTFT p50", "TTFT p90", "worst gap p50", "TPOT p50", "E2E p50", "E2E p90"},
       {}}};
  for (const auto& group : quartiles) {
    const auto attainment = group.goodput.attainment();
    section.table.rows.push_back({group.name, count_text(group.goodput.offered + group.goodput.cancelled),
                                  attainment ? share_text(*attainment) : "n/a", seconds_text(group.ttft.quantiles[0]),
                                  seconds_text(group.ttft.quantiles[1]), seconds_text(group.worst_gap.quantiles[0]),
                                  seconds_text(group.tpot.quantiles[0]), seconds_text(group.end_to_end.quantiles[0]),
                                  seconds_text(group.end_to_end.quantiles[1])});
  }
  return section;
}

Section outcomes_section(const RunReport& report) {
  Section section{"How requests ended", {}, {{"requests", "kind", "count"}, {}}};
  for (const auto* group : groups_of(report)) {
    const auto& failures = group->failures;
    const std::uint64_t whole = failures[0] - std::min(failures[0], group->goodput.cancelled);
    section.table.rows.push_back({group->name, "complete", count_text(whole)});
    if (group->goodput.cancelled > 0)
      section.table.rows.push_back({group->name, "cancelled by their sender", count_text(group->goodput.cancelled)});
    for (std::size_t kind = 1; kind < failures.size(); ++kind) {
      if (failures[kind] == 0) continue;
      section.table.rows.push_back(
          {group->name, to_string(static_cast<measure::Failure>(kind)), count_text(failures[kind])});
    }
    if (group->retried > 0)
      section.table.rows.push_back({group->name, "sent again after Retry-After", count_text(group->retried)});
  }
  return section;
}

Section trials_section(const RunReport& report) {
  Section section{
      "Capacity search", {}, {{"requests/s", "attainment", "95 % interval", "goodput (requests/s)", "remarks"}, {}}};
  auto trials = report.trials;
  std::sort(trials.begin(), trials.end(), [](const auto& a, const auto& b) { return a.rate < b.rate; });
  for (const auto& trial : trials) {
    std::string remarks = trial.saturated ? "saturated" : "";
    if (!trial.valid) remarks += remarks.empty() ? "not valid" : ", not valid";
    section.table.rows.push_back({number_text(trial.rate), share_text(trial.attainment),
                                  share_text(trial.interval.low) + " to " + share_text(trial.interval.high),
                                  number_text(trial.goodput), remarks});
  }
  return section;
}

std::string value_text(const measure::Difference& difference, double value) {
  if (difference.unit == "s") return seconds_text(value);
  if (difference.unit == "share") return share_text(value);
  return number_text(value) + " " + difference.unit;
}

std::string judgement(const measure::Difference& difference) {
  if (!difference.real()) return "no difference to be seen";
  const bool smaller = difference.after < difference.before;
  return smaller == difference.smaller_is_better ? "better" : "WORSE";
}

// Names and errors come from servers and files; a terminal may show the text.
std::string without_commands(std::string text) {
  constexpr unsigned char kDelete = 0x7F;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    // Of the controls above ASCII the second byte is the command.
    const bool second = byte >= 0x80 && byte < 0xA0 && at > 0 && static_cast<unsigned char>(text[at - 1]) == 0xC2;
    if ((byte < 0x20 && text[at] != '\n') || byte == kDelete) text[at] = '?';
    if (second) text.replace(--at, 2, "?");
  }
  return text;
}

}  // namespace

std::vector<Section> sections_of(const RunReport& report) {
  std::vector<Section> sections{comparison_record(report), summary(report), goodput_section(report),
                                latency_section(report), outcomes_section(report)};
  if (!report.trials.empty()) sections.insert(sections.begin() + 2, trials_section(report));
  if (!report.verdict.prompt_quartiles.empty())
    sections.push_back(lengths_section("By prompt length (quarters of the requests)", report.verdict.prompt_quartiles));
  if (!report.verdict.output_quartiles.empty())
    sections.push_back(lengths_section("By answer length (quarters of the answers)", report.verdict.output_quartiles));
  return sections;
}

std::vector<Section> sections_of(const std::vector<NamedComparison>& comparisons) {
  std::vector<Section> sections;
  for (const auto& one : comparisons) {
    Section section{one.before + " against " + one.after,
                    one.comparison.warnings,
                    {{"figure", one.before, one.after, "ratio", "95 % interval of the difference", "verdict"}, {}}};
    for (const auto& difference : one.comparison.differences) {
      section.table.rows.push_back(
          {difference.figure, value_text(difference, difference.before), value_text(difference, difference.after),
           difference.before != 0.0 ? number_text(difference.after / difference.before) : "n/a",
           value_text(difference, difference.interval.low) + " to " + value_text(difference, difference.interval.high),
           judgement(difference)});
    }
    if (section.table.rows.empty())
      section.sentences.emplace_back("Nothing to compare: too few requests for any figure.");
    section.sentences.emplace_back(
        "A difference is real where the 95 % bootstrap interval of the difference leaves 0 out. Percentiles with fewer "
        "than "
        "ten samples beyond them are not compared.");
    sections.push_back(std::move(section));
  }
  return sections;
}

std::string to_markdown(const std::string& title, const std::vector<Section>& sections) {
  std::string text = "# " + title + "\n";
  const auto cell = [](std::string value) {
    for (std::size_t at = 0; (at = value.find_first_of("|\n", at)) != std::string::npos; at += 1) value[at] = '/';
    return value;
  };
  for (const auto& section : sections) {
    text += "\n## " + section.heading + "\n\n";
    for (const auto& sentence : section.sentences) text += sentence + "\n\n";
    if (section.table.rows.empty()) continue;
    text += "|";
    for (const auto& column : section.table.columns) text += " " + cell(column) + " |";
    text += "\n|";
    for (std::size_t i = 0; i < section.table.columns.size(); ++i) text += i == 0 ? "---|" : "---:|";
    text += "\n";
    for (const auto& row : section.table.rows) {
      text += "|";
      for (const auto& value : row) text += " " + cell(value) + " |";
      text += "\n";
    }
  }
  return without_commands(std::move(text));
}

}  // namespace takt::report

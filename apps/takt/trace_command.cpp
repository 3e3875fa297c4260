// `takt trace`: looks at traces of requests and makes others of them.
#include <CLI/CLI.hpp>
#include <cctype>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "number_in.h"
#include "output_files.h"
#include "trace/anonymiser.h"
#include "trace/merged_reader.h"
#include "trace/reader.h"
#include "trace/sorted_reader.h"
#include "trace/writer.h"
#include "trace_report.h"

namespace takt::app {
namespace {

constexpr double kMostTraceSeconds = 6e9;  // 200 years

struct TraceArguments {
  std::vector<std::string> files;
  std::string output;
  std::string format = "takt";
  std::string align = "start";
  std::optional<double> from_seconds;
  std::optional<double> to_seconds;
  std::optional<std::uint64_t> first;
  std::string service_class;
  std::string application;
  bool skip_malformed = false;
};

ExitCode fail_trace(const Error& error) {
  return fail(error.code == ErrorCode::kInvalidArgument ? ExitCode::kUsage : ExitCode::kFile, error);
}

trace::ReadOptions read_options(const TraceArguments& arguments) {
  trace::ReadOptions options;
  if (arguments.skip_malformed) options.on_malformed = trace::OnMalformed::kSkip;
  return options;
}

Result<std::unique_ptr<trace::Reader>> open_sorted(const std::string& path, const TraceArguments& arguments) {
  const trace::ReadOptions options = read_options(arguments);
  auto reader = trace::open_trace(path, options);
  if (!reader || !(*reader)->origin().has_arrivals) return reader;
  return trace::sorted_by_arrival(std::move(*reader), options.on_malformed);
}

// Runs `use` on every record.
template <typename Use>
Status for_each_record(trace::Reader& reader, Use use) {
  for (;;) {
    auto record = reader.next();
    if (!record) return record.error();
    if (!*record) return {};
    if (Status used = use(**record); !used) return used;
  }
}

ExitCode print_made(const trace::Reader& reader, const std::string& path, std::uint64_t written) {
  return print(path + ": " + std::to_string(written) + " requests\n" + counts_report(reader.counts()));
}

Error nothing_kept(const trace::Reader& reader) {
  return Error::invalid("", reader.origin().file + ": 0 of " + std::to_string(reader.counts().records) +
                                " requests are kept: nothing is written");
}

// Writes what `keep` keeps of a trace, as it has changed it. Where that is nothing, there is no file.
template <typename Keep>
ExitCode rewrite(trace::Reader& reader, const std::string& path, trace::OutputFormat format,
                 const trace::Origin& origin, Keep keep) {
  auto writer = trace::create_trace(path, format, origin);
  if (!writer) return fail_trace(writer.error());
  std::uint64_t written = 0;
  Status status = for_each_record(reader, [&](trace::Record& record) -> Status {
    if (!keep(record)) return {};
    ++written;
    return (*writer)->write(record);
  });
  if (status && written == 0) status = nothing_kept(reader);
  if (status) status = (*writer)->finish();
  if (!status) return fail_trace(status.error());
  return print_made(reader, path, written);
}

ExitCode run_info(const TraceArguments& arguments) {
  ExitCode code = ExitCode::kDone;
  for (const std::string& file : arguments.files) {
    if (output_is_closed()) break;
    const auto report = trace_report(file, read_options(arguments));
    const ExitCode shown = report ? print(*report) : fail_trace(report.error());
    if (code == ExitCode::kDone) code = shown;
  }
  return code;
}

ExitCode run_cut(const TraceArguments& arguments) {
  if (arguments.to_seconds && *arguments.to_seconds <= arguments.from_seconds.value_or(0.0))
    return fail(ExitCode::kUsage, Error::invalid("--to", "--to must be after --from: nothing lies between them"));
  auto reader = open_sorted(arguments.files.front(), arguments);
  if (!reader) return fail_trace(reader.error());
  trace::Origin origin = (*reader)->origin();
  const bool by_time = arguments.from_seconds || arguments.to_seconds;
  if (by_time && !origin.has_arrivals)
    return fail(ExitCode::kUsage, Error::invalid("", origin.file + " has no instants to cut by; use --first"));
  const Duration from = from_seconds(arguments.from_seconds.value_or(0.0));
  if (origin.wall_nanoseconds) *origin.wall_nanoseconds += from.count();
  std::uint64_t kept = 0;
  return rewrite(**reader, arguments.output, trace::OutputFormat::kTakt, origin, [&](trace::Record& record) {
    if (arguments.from_seconds && record.arrival < from) return false;
    if (arguments.to_seconds && record.arrival >= from_seconds(*arguments.to_seconds)) return false;
    if (!arguments.service_class.empty() && record.service_class != arguments.service_class) return false;
    if (!arguments.application.empty() && record.application != arguments.application) return false;
    if (arguments.first && kept >= *arguments.first) return false;
    ++kept;
    record.arrival -= from;
    return true;
  });
}

ExitCode run_merge(const TraceArguments& arguments) {
  std::vector<std::unique_ptr<trace::Reader>> readers;
  for (const std::string& file : arguments.files) {
    auto reader = open_sorted(file, arguments);
    if (!reader) return fail_trace(reader.error());
    readers.push_back(std::move(*reader));
  }
  auto merged =
      trace::merged(std::move(readers), arguments.align == "wall" ? trace::Align::kWall : trace::Align::kStart);
  if (!merged) return fail_trace(merged.error());
  return rewrite(**merged, arguments.output, trace::OutputFormat::kTakt, (*merged)->origin(),
                 [](trace::Record&) { return true; });
}

ExitCode run_anonymise(const TraceArguments& arguments) {
  auto reader = trace::open_trace(arguments.files.front(), read_options(arguments));
  if (!reader) return fail_trace(reader.error());
  auto anonymiser = trace::Anonymiser::create();
  if (!anonymiser) return fail(ExitCode::kFault, anonymiser.error());
  return rewrite(**reader, arguments.output, trace::OutputFormat::kTakt, anonymiser->origin((*reader)->origin()),
                 [&](trace::Record& record) {
                   anonymiser->apply(record);
                   return true;
                 });
}

ExitCode run_convert(const TraceArguments& arguments) {
  const auto format = trace::output_format(arguments.format);
  if (!format)
    return fail(ExitCode::kUsage, Error::invalid("--to", "must be takt, mooncake, azure, burstgpt, table or lengths"));
  auto reader = open_sorted(arguments.files.front(), arguments);
  if (!reader) return fail_trace(reader.error());
  const trace::Origin& origin = (*reader)->origin();
  const bool instants = *format != trace::OutputFormat::kTakt && *format != trace::OutputFormat::kLengths;
  if (instants && !origin.has_arrivals)
    return fail(ExitCode::kUsage, Error::invalid("--to", origin.file + " has no instants, which " + arguments.format +
                                                             " needs: convert it to lengths or takt"));
  bool dated = true;
  const ExitCode code = rewrite(**reader, arguments.output, *format, origin, [&](trace::Record& record) {
    dated = dated && (origin.wall_nanoseconds || record.wall_nanoseconds);
    return true;
  });
  if (code != ExitCode::kDone) return code;
  std::string text = std::string("  keeps    ") + trace::what_it_keeps(*format) + "\n";
  if (*format == trace::OutputFormat::kAzure && !dated)
    text += "  note     the trace does not say when it was: its instants stand behind 1970-01-01 00:00:00\n";
  return print(text);
}

// A class's name as part of a file's.
std::string file_part(const std::string& name) {
  if (name.empty()) return "none";
  std::string part = name;
  for (char& c : part) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_') c = '_';
  }
  return part;
}

ExitCode run_split(const TraceArguments& arguments) {
  constexpr std::size_t kMostClasses = 64;
  auto reader = trace::open_trace(arguments.files.front(), read_options(arguments));
  if (!reader) return fail_trace(reader.error());
  struct Part {
    std::string path;
    std::unique_ptr<trace::Writer> writer;
    std::uint64_t written = 0;
  };
  std::map<std::string, Part> parts;
  Status status = for_each_record(**reader, [&](const trace::Record& record) -> Status {
    const auto [found, fresh] = parts.try_emplace(file_part(record.service_class));
    Part& part = found->second;
    if (fresh) {
      if (parts.size() > kMostClasses) return Error::invalid("", arguments.files.front() + " has more than 64 classes");
      part.path = arguments.output + "-" + found->first + ".jsonl";
      auto writer = trace::create_trace(part.path, trace::OutputFormat::kTakt, (*reader)->origin());
      if (!writer) return writer.error();
      part.writer = std::move(*writer);
    }
    ++part.written;
    return part.writer->write(record);
  });
  if (status && parts.empty()) status = nothing_kept(**reader);
  std::string made;
  for (auto& [name, part] : parts) {
    if (status) status = part.writer->finish();
    made += part.path + ": " + std::to_string(part.written) + " requests\n";
  }
  if (!status) return fail_trace(status.error());
  return print(made + counts_report((*reader)->counts()));
}

using TraceRun = ExitCode (*)(const TraceArguments&);

// What all of them share.
CLI::App* add_part(CLI::App& command, ChosenCommand& chosen, const std::shared_ptr<TraceArguments>& arguments,
                   std::pair<const char*, const char*> name_and_help, TraceRun run) {
  CLI::App* part = command.add_subcommand(name_and_help.first, name_and_help.second);
  part->add_flag("--skip-malformed", arguments->skip_malformed,
                 "Leave malformed lines out and count them; without it the first one is an error");
  part->callback([&chosen, arguments, run] {
    chosen = [arguments, run] {
      const auto status = check_outputs({{"--output", arguments->output}}, arguments->files);
      return status ? run(*arguments) : fail(ExitCode::kUsage, status.error());
    };
  });
  return part;
}

void add_files(CLI::App* part, TraceArguments& arguments, bool many) {
  auto* files = part->add_option("file", arguments.files, "A trace, or a folder of captured segments")->required();
  if (!many) files->expected(1);
}

void add_output(CLI::App* part, TraceArguments& arguments, const char* help) {
  part->add_option("-o,--output", arguments.output, help)->required();
}

}  // namespace

void add_trace_command(CLI::App& app, ChosenCommand& chosen) {
  constexpr const char* kNewFile = "The new file; it must not be there yet";
  CLI::App* command = app.add_subcommand("trace", "Look at traces of requests, and make others of them");
  command->require_subcommand(1);
  auto arguments = std::make_shared<TraceArguments>();

  auto* info = add_part(*command, chosen, arguments, {"info", "Requests, rates, lengths and reuse"}, run_info);
  add_files(info, *arguments, true);

  auto* cut = add_part(*command, chosen, arguments, {"cut", "Keep a part"}, run_cut);
  add_files(cut, *arguments, false);
  add_output(cut, *arguments, kNewFile);
  cut->add_option("--from", arguments->from_seconds, "First instant, in seconds after the trace's origin")
      ->check(number_in(0.0, kMostTraceSeconds));
  cut->add_option("--to", arguments->to_seconds, "Instant before which the part ends, in seconds")
      ->check(number_in(0.0, kMostTraceSeconds));
  cut->add_option("--first", arguments->first, "So many requests at most")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40U));
  cut->add_option("--class", arguments->service_class, "Of this service class");
  cut->add_option("--application", arguments->application, "Of this application");

  auto* merge = add_part(*command, chosen, arguments, {"merge", "Several traces as one"}, run_merge);
  add_files(merge, *arguments, true);
  add_output(merge, *arguments, kNewFile);
  merge->add_option("--align", arguments->align, "start: they begin together; wall: by the clock on the wall")
      ->check(CLI::IsMember({"start", "wall"}));

  auto* anonymise = add_part(*command, chosen, arguments,
                             {"anonymise", "Take out names, texts and dates, and leave the shape"}, run_anonymise);
  add_files(anonymise, *arguments, false);
  add_output(anonymise, *arguments, kNewFile);

  auto* convert = add_part(*command, chosen, arguments, {"convert", "Write another format"}, run_convert);
  add_files(convert, *arguments, false);
  add_output(convert, *arguments, kNewFile);
  convert->add_option("--to", arguments->format, "takt, mooncake, azure, burstgpt, table or lengths");

  auto* split = add_part(*command, chosen, arguments, {"split-by-class", "A file per service class"}, run_split);
  add_files(split, *arguments, false);
  add_output(split, *arguments, "How the new files' names begin: OUTPUT-CLASS.jsonl");
}

}  // namespace takt::app

// A golden's tokens fed to a model, and how far its logprobs are from the golden's.
#pragma once

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "exec/cpu/logprob_probe.h"
#include "golden/golden_data.h"

namespace takt::golden {

struct Position {
  std::uint32_t position = 0;
  std::vector<TokenId> top_ids;
  std::vector<double> top_logprobs;
  TokenId next_id = 0;
  double next_logprob = 0.0;
};

struct Case {
  std::string name;
  std::vector<TokenId> prompt_ids;
  std::vector<TokenId> greedy_ids;
  std::vector<double> margins;
  std::vector<Position> positions;
};

inline std::vector<Case> read_cases(const std::filesystem::path& path) {
  const auto ids = [](const boost::json::value& v) { return boost::json::value_to<std::vector<TokenId>>(v); };
  const auto numbers = [](const boost::json::value& v) { return boost::json::value_to<std::vector<double>>(v); };
  std::vector<Case> cases;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const auto json = boost::json::parse(line);
    Case c;
    c.name = json.at("name").as_string().c_str();
    c.prompt_ids = ids(json.at("prompt_ids"));
    c.greedy_ids = ids(json.at("greedy_ids"));
    c.margins = numbers(json.at("margins"));
    for (const auto& at : json.at("positions").as_array()) {
      c.positions.push_back({static_cast<std::uint32_t>(at.at("pos").to_number<int>()), ids(at.at("top_ids")),
                             numbers(at.at("top_logprobs")), at.at("next_id").to_number<TokenId>(),
                             at.at("next_logprob").to_number<double>()});
    }
    cases.push_back(std::move(c));
  }
  return cases;
}

// One stored position beside ours.
struct Compared {
  const Position* golden = nullptr;
  TokenId argmax = 0;
  std::vector<double> logprobs;  // of golden->top_ids
  double next_logprob = 0.0;

  // sum of p ln(p / q) over the stored tokens and one bucket for the rest
  double kl() const {
    double sum = 0.0;
    double p_rest = 1.0;
    double q_rest = 1.0;
    for (std::size_t i = 0; i < logprobs.size(); ++i) {
      const double p = std::exp(golden->top_logprobs[i]);
      sum += p * (golden->top_logprobs[i] - logprobs[i]);
      p_rest -= p;
      q_rest -= std::exp(logprobs[i]);
    }
    if (p_rest > 1e-9 && q_rest > 1e-12) sum += p_rest * std::log(p_rest / q_rest);
    return sum;
  }
  bool agrees() const { return argmax == golden->top_ids[0]; }
  double margin() const { return golden->top_logprobs[0] - golden->top_logprobs[1]; }
  double next_difference() const { return std::abs(next_logprob - golden->next_logprob); }
};

// Feeds prompt and greedy tokens of the golden and asks for what it has stored. `error` is empty when all went well.
inline std::vector<Compared> teacher_force(LogprobProbe& probe, const Case& c, std::string& error) {
  LogprobQuery query;
  query.prompt_ids = c.prompt_ids;
  query.prompt_ids.insert(query.prompt_ids.end(), c.greedy_ids.begin(), c.greedy_ids.end());
  query.top = 1;
  for (const Position& p : c.positions) {
    query.ids_at.push_back({p.position, p.top_ids});
    query.ids_at.back().ids.push_back(p.next_id);
  }
  const auto answer = probe.answer(query);
  if (!answer) {
    error = answer.error().message;
    return {};
  }
  std::vector<Compared> out;
  for (const Position& p : c.positions) {
    const auto found = std::find_if(answer->positions.begin(), answer->positions.end(),
                                    [&](const PositionLogprobs& at) { return at.position == p.position; });
    if (found == answer->positions.end()) {
      error = "position " + std::to_string(p.position) + " is missing";
      return {};
    }
    Compared compared{&p, found->argmax, {found->logprobs.begin(), found->logprobs.end() - 1}, found->logprobs.back()};
    out.push_back(std::move(compared));
  }
  return out;
}

// Means and shares over all positions of a model.
struct Closeness {
  std::size_t positions = 0;
  std::size_t clear_positions = 0;  // margin above 0.1
  double kl = 0.0;
  double largest_kl = 0.0;
  double agreement = 0.0;
  double clear_agreement = 0.0;
  double next_difference = 0.0;

  void add(const Compared& c) {
    ++positions;
    kl += c.kl();
    largest_kl = std::max(largest_kl, c.kl());
    agreement += c.agrees() ? 1.0 : 0.0;
    next_difference += c.next_difference();
    if (c.margin() > 0.1) {
      ++clear_positions;
      clear_agreement += c.agrees() ? 1.0 : 0.0;
    }
  }
  Closeness means() const {
    Closeness out = *this;
    const auto n = static_cast<double>(std::max<std::size_t>(1, positions));
    out.kl /= n;
    out.agreement /= n;
    out.next_difference /= n;
    out.clear_agreement /= static_cast<double>(std::max<std::size_t>(1, clear_positions));
    return out;
  }
};

}  // namespace takt::golden

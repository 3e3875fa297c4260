#include "trace/line_format.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "trace/csv_row.h"
#include "trace/mix.h"
#include "trace/number_text.h"
#include "trace/takt_format.h"

namespace takt::trace {
namespace {

class TaktLines final : public LineFormat {
 public:
  explicit TaktLines(const Origin& origin) {
    head_.wall_nanoseconds = origin.wall_nanoseconds;
    head_.has_arrivals = origin.has_arrivals;
    head_.server = origin.server;
    head_.configuration = origin.configuration;
  }
  void put_head(std::string& out) override { out += head_line(head_); }
  void put(std::string& out, const Record& record) override { append_record_line(out, record); }

 private:
  TaktTraceHead head_;
};

class MooncakeLines final : public LineFormat {
 public:
  void put_head(std::string& /*out*/) override {}

  void put(std::string& out, const Record& record) override {
    constexpr std::int64_t kNanosecondsOfAMillisecond = 1'000'000;
    out += "{\"timestamp\": " + std::to_string(record.arrival.count() / kNanosecondsOfAMillisecond);
    out += ", \"input_length\": " + std::to_string(record.prompt_tokens);
    out += ", \"output_length\": " + std::to_string(record.output_tokens);
    out += ", \"hash_ids\": [";
    const std::uint64_t blocks = (std::uint64_t{record.prompt_tokens} + kTokens - 1) / kTokens;
    for (std::uint64_t i = 0; i < blocks; ++i) {
      if (i > 0) out += ", ";
      out += std::to_string(id_of_block(record, i));
    }
    out += "]}\n";
    ++records_;
  }

 private:
  static constexpr std::uint64_t kTokens = 512;
  static constexpr std::uint64_t kExact = (std::uint64_t{1} << 53) - 1;  // in every reader's number type

  // Two prompts have equal ids only where the source says that they are equal up to the block's end.
  std::uint64_t id_of_block(const Record& record, std::uint64_t block) const {
    const PromptBlocks& source = record.blocks;
    const std::uint64_t end = std::min<std::uint64_t>((block + 1) * kTokens, record.prompt_tokens);
    if (source.block_tokens > 0) {
      const std::uint64_t last = (end + source.block_tokens - 1) / source.block_tokens - 1;
      if (last < source.hashes.size()) {
        const std::uint64_t hash = source.hashes[last];
        return source.block_tokens == kTokens && hash <= kExact ? hash : mix(hash, block) & kExact;
      }
    }
    return mix(mix(kOwnBlocks, records_), block) & kExact;
  }

  static constexpr std::uint64_t kOwnBlocks = 0x6F776E;  // of prompts that nobody shares
  std::uint64_t records_ = 0;
};

class AzureLines final : public LineFormat {
 public:
  explicit AzureLines(const Origin& origin) : origin_(origin.wall_nanoseconds.value_or(0)) {}
  void put_head(std::string& out) override { out += "TIMESTAMP,ContextTokens,GeneratedTokens\n"; }
  void put(std::string& out, const Record& record) override {
    const std::int64_t wall = record.wall_nanoseconds.value_or(origin_ + record.arrival.count());
    out += wall_text(std::max<std::int64_t>(wall, 0));
    out += ',' + std::to_string(record.prompt_tokens) + ',' + std::to_string(record.output_tokens) + '\n';
  }

 private:
  const std::int64_t origin_;
};

class BurstGptLines final : public LineFormat {
 public:
  void put_head(std::string& out) override {
    out += "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n";
  }
  void put(std::string& out, const Record& record) override {
    out += decimal_seconds(record.arrival, 0) + ',';
    append_csv_value(out, record.session);
    out += ',' + (record.timings.ended ? decimal_seconds(*record.timings.ended, 0) : std::string()) + ',';
    append_csv_value(out, record.model);
    out += ',' + std::to_string(record.prompt_tokens) + ',' + std::to_string(record.output_tokens) + ',';
    out += std::to_string(std::uint64_t{record.prompt_tokens} + record.output_tokens) + ',';
    append_csv_value(out, record.task);
    out += '\n';
  }
};

class TableLines final : public LineFormat {
 public:
  void put_head(std::string& out) override {
    out += "arrival_s,application,tenant,user,tier,class,task,model,session,turn,input_tokens,output_tokens\n";
  }
  void put(std::string& out, const Record& record) override {
    constexpr int kDecimals = 6;
    out += decimal_seconds(record.arrival, kDecimals);
    const std::string_view tier = record.tier ? std::string_view(to_string(*record.tier)) : std::string_view();
    for (const std::string_view text :
         {std::string_view(record.application), std::string_view(record.tenant), std::string_view(record.user), tier,
          std::string_view(record.service_class), std::string_view(record.task), std::string_view(record.model),
          std::string_view(record.session)}) {
      out += ',';
      append_csv_value(out, text);
    }
    out += ',' + (record.turn ? std::to_string(*record.turn) : std::string());
    out += ',' + std::to_string(record.prompt_tokens) + ',' + std::to_string(record.output_tokens) + '\n';
  }
};

class LengthLines final : public LineFormat {
 public:
  void put_head(std::string& out) override { out += "input_tokens,output_tokens\n"; }
  void put(std::string& out, const Record& record) override {
    out += std::to_string(record.prompt_tokens) + ',' + std::to_string(record.output_tokens) + '\n';
  }
};

struct OutputWord {
  OutputFormat format;
  const char* word;
  const char* keeps;
};
constexpr std::array kOutputWords = {
    OutputWord{OutputFormat::kTakt, "takt", "everything"},
    OutputWord{OutputFormat::kMooncake, "mooncake", "instants (ms), lengths, shared prefixes in blocks of 512 tokens"},
    OutputWord{OutputFormat::kAzure, "azure", "wall-clock instants (100 ns), lengths"},
    OutputWord{OutputFormat::kBurstGpt, "burstgpt",
               "instants, model, lengths, task, session, time of the whole request"},
    OutputWord{OutputFormat::kTable, "table",
               "instants, application, tenant, user, tier, class, task, model, session, "
               "turn, lengths"},
    OutputWord{OutputFormat::kLengths, "lengths", "lengths"},
};

}  // namespace

std::optional<OutputFormat> output_format(std::string_view word) {
  for (const OutputWord& known : kOutputWords) {
    if (word == known.word) return known.format;
  }
  return std::nullopt;
}

const char* to_string(OutputFormat format) {
  return kOutputWords.at(static_cast<std::size_t>(format)).word;
}

const char* what_it_keeps(OutputFormat format) {
  return kOutputWords.at(static_cast<std::size_t>(format)).keeps;
}

std::unique_ptr<LineFormat> make_line_format(OutputFormat format, const Origin& origin) {
  switch (format) {
    case OutputFormat::kTakt:
      return std::make_unique<TaktLines>(origin);
    case OutputFormat::kMooncake:
      return std::make_unique<MooncakeLines>();
    case OutputFormat::kAzure:
      return std::make_unique<AzureLines>(origin);
    case OutputFormat::kBurstGpt:
      return std::make_unique<BurstGptLines>();
    case OutputFormat::kTable:
      return std::make_unique<TableLines>();
    case OutputFormat::kLengths:
      break;
  }
  return std::make_unique<LengthLines>();
}

}  // namespace takt::trace

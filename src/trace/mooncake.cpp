// Mooncake's traces (Qin et al., FAST 2025): JSON lines of timestamp [ms], input_length, output_length and the ids of
// the prompt's prefix blocks of 512 tokens.
#include <boost/json.hpp>
#include <cmath>

#include "trace/json_values.h"
#include "trace/row_parser.h"

namespace takt::trace {
namespace {

namespace json = boost::json;

constexpr std::uint32_t kMooncakeBlockTokens = 512;

class MooncakeParser final : public RowParser {
 public:
  Result<Row> parse(std::string_view line) override {
    auto parsed = memory_.parse(line);
    if (!parsed) return parsed.error();
    const json::object& fields = **parsed;
    for (const auto& field : fields) {
      if (field.key() != "timestamp" && field.key() != "input_length" && field.key() != "output_length" &&
          field.key() != "hash_ids")
        return Error::invalid(std::string(field.key()), "unknown field " + std::string(field.key()));
    }
    const auto arrival = milliseconds(fields);
    if (!arrival) return arrival.error();
    const auto input = required_count(fields, "input_length");
    if (!input) return input.error();
    const auto output = required_count(fields, "output_length");
    if (!output) return output.error();
    if (*input == 0) return Row{std::nullopt, "no input tokens"};
    Record record;
    record.arrival = *arrival;
    record.prompt_tokens = *input;
    record.output_tokens = *output;
    if (const Status blocks = read_blocks(fields, record); !blocks) return blocks.error();
    return Row{std::move(record), nullptr};
  }

  void describe(Origin& origin) const override { origin.format = Format::kMooncake; }

 private:
  static Result<Duration> milliseconds(const json::object& fields) {
    constexpr double kMost = 6e12;  // 200 years
    constexpr double kNanosecondsOfOne = 1e6;
    const json::value* value = fields.if_contains("timestamp");
    if (value == nullptr) return Error::invalid("timestamp", "timestamp is missing");
    if (const auto* whole = value->if_int64(); whole != nullptr && *whole >= 0 && static_cast<double>(*whole) < kMost)
      return Duration(*whole * static_cast<std::int64_t>(kNanosecondsOfOne));
    if (const auto* part = value->if_double(); part != nullptr && *part >= 0.0 && *part < kMost)
      return Duration(std::llround(*part * kNanosecondsOfOne));
    return Error::invalid("timestamp", "timestamp must be a number of milliseconds from 0");
  }

  static Status read_blocks(const json::object& fields, Record& record) {
    const json::value* value = fields.if_contains("hash_ids");
    if (value == nullptr) return {};
    const json::array* ids = value->if_array();
    if (ids == nullptr) return Error::invalid("hash_ids", "hash_ids must be a list");
    const std::uint64_t most = (std::uint64_t{record.prompt_tokens} + kMooncakeBlockTokens - 1) / kMooncakeBlockTokens;
    if (ids->size() > most)
      return Error::invalid("hash_ids", "hash_ids has " + std::to_string(ids->size()) + " blocks, the prompt only " +
                                            std::to_string(most));
    record.blocks.block_tokens = kMooncakeBlockTokens;
    record.blocks.hashes.reserve(ids->size());
    for (const json::value& id : *ids) {
      if (!id.is_int64() && !id.is_uint64()) return Error::invalid("hash_ids", "hash_ids must hold whole numbers");
      record.blocks.hashes.push_back(id.is_int64() ? static_cast<std::uint64_t>(id.get_int64()) : id.get_uint64());
    }
    return {};
  }

  JsonMemory memory_;
};

}  // namespace

std::unique_ptr<RowParser> make_mooncake_parser() {
  return std::make_unique<MooncakeParser>();
}

}  // namespace takt::trace

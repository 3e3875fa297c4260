#include "trace/record_json.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <boost/json.hpp>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <type_traits>

namespace takt::trace {
namespace {

namespace json = boost::json;

template <typename Number>
void put_number(std::string& out, Number number) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

// Names may be any bytes, of a header or of another's file; JSON may not.
std::string json_text(const std::string& text) {
  std::string quoted = json::serialize(json::string(text));
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(quoted.begin(), quoted.end(), is_ascii)) return quoted;
  json::error_code failure;
  json::parse(quoted, failure);
  if (failure)
    std::replace_if(
        quoted.begin(), quoted.end(), [&](char c) { return !is_ascii(c); }, '?');
  return quoted;
}

// Appends a value as JSON.
void put(std::string& out, const std::string& text) {
  out += json_text(text);
}
void put(std::string& out, const char* word) {
  out += '"';
  out += word;
  out += '"';
}
void put(std::string& out, bool value) {
  out += value ? "true" : "false";
}
void put(std::string& out, std::uint32_t value) {
  put_number(out, value);
}
void put(std::string& out, std::uint64_t value) {
  put_number(out, value);
}
void put(std::string& out, std::int64_t value) {
  put_number(out, value);
}
void put(std::string& out, Duration value) {
  put_number(out, static_cast<std::int64_t>(value.count()));
}
template <typename Word>
requires std::is_enum_v<Word>
void put(std::string& out, Word word) {
  put(out, to_string(word));
}
void put(std::string& out, const std::vector<std::uint64_t>& hashes) {
  constexpr const char* kHex = "0123456789abcdef";
  constexpr int kTopNibble = 60;
  out += '"';
  for (const std::uint64_t hash : hashes) {
    for (int shift = kTopNibble; shift >= 0; shift -= 4) out += kHex[(hash >> shift) & 0xF];
  }
  out += '"';
}
template <typename Value>
void put(std::string& out, const std::optional<Value>& value) {
  if (value) {
    put(out, *value);
  } else {
    out += "null";
  }
}

// Takes a value; false when it is not of the kind.
bool take(const json::value& value, std::string& out) {
  const json::string* text = value.if_string();
  if (text != nullptr) out.assign(text->data(), text->size());
  return text != nullptr;
}
bool take(const json::value& value, bool& out) {
  const bool* flag = value.if_bool();
  if (flag != nullptr) out = *flag;
  return flag != nullptr;
}
bool take(const json::value& value, std::int64_t& out) {
  const std::int64_t* number = value.if_int64();
  if (number != nullptr) out = *number;
  return number != nullptr;
}
bool take(const json::value& value, std::uint64_t& out) {
  if (const std::uint64_t* number = value.if_uint64()) {
    out = *number;
    return true;
  }
  const std::int64_t* number = value.if_int64();
  if (number == nullptr || *number < 0) return false;
  out = static_cast<std::uint64_t>(*number);
  return true;
}
bool take(const json::value& value, std::uint32_t& out) {
  std::uint64_t wide = 0;
  if (!take(value, wide) || wide > std::numeric_limits<std::uint32_t>::max()) return false;
  out = static_cast<std::uint32_t>(wide);
  return true;
}
bool take(const json::value& value, Duration& out) {
  std::int64_t nanoseconds = 0;
  if (!take(value, nanoseconds)) return false;
  out = Duration(nanoseconds);
  return true;
}
template <typename Word>
bool take_word(const json::value& value, Word& out, std::initializer_list<Word> words) {
  const json::string* text = value.if_string();
  if (text == nullptr) return false;
  for (const Word word : words) {
    if (*text == to_string(word)) {
      out = word;
      return true;
    }
  }
  return false;
}
bool take(const json::value& value, Tier& out) {
  return take_word(value, out, {Tier::kRealtime, Tier::kBatch});
}
bool take(const json::value& value, Work& out) {
  return take_word(value, out, {Work::kGenerate, Work::kEmbed});
}
bool take(const json::value& value, SamplingKind& out) {
  return take_word(value, out, {SamplingKind::kUnknown, SamplingKind::kGreedy, SamplingKind::kRandom});
}
bool take(const json::value& value, Outcome& out) {
  return take_word(value, out,
                   {Outcome::kUnknown, Outcome::kFinished, Outcome::kFailed, Outcome::kCancelled, Outcome::kRefused});
}
bool take(const json::value& value, FinishReason& out) {
  return take_word(value, out,
                   {FinishReason::kStop, FinishReason::kLength, FinishReason::kCancelled, FinishReason::kExpired,
                    FinishReason::kFailed});
}
bool take(const json::value& value, std::vector<std::uint64_t>& out) {
  constexpr std::size_t kDigits = 16;
  const json::string* text = value.if_string();
  if (text == nullptr || text->size() % kDigits != 0) return false;
  out.clear();
  out.reserve(text->size() / kDigits);
  for (std::size_t at = 0; at < text->size(); at += kDigits) {
    std::uint64_t hash = 0;
    const char* begin = text->data() + at;
    const auto [end, error] = std::from_chars(begin, begin + kDigits, hash, 16);
    if (error != std::errc() || end != begin + kDigits) return false;
    out.push_back(hash);
  }
  return true;
}
template <typename Value>
bool take(const json::value& value, std::optional<Value>& out) {
  out.reset();
  if (value.is_null()) return true;
  return take(value, out.emplace());
}

struct RecordField {
  const char* name;
  void (*put_to)(std::string& out, const Record& record);
  bool (*take_from)(const json::value& value, Record& record);
};

// NOLINTBEGIN(bugprone-macro-parentheses): a member's path cannot stand in parentheses
#define TAKT_FIELD(name, member)                                                            \
  RecordField {                                                                             \
    name, [](std::string& out, const Record& record) { put(out, record.member); },          \
        [](const json::value& value, Record& record) { return take(value, record.member); } \
  }
// NOLINTEND(bugprone-macro-parentheses)

constexpr std::array kRecordFields = {
    TAKT_FIELD("arrival_ns", arrival),
    TAKT_FIELD("wall_ns", wall_nanoseconds),
    TAKT_FIELD("id", request),
    TAKT_FIELD("application", application),
    TAKT_FIELD("tenant", tenant),
    TAKT_FIELD("user", user),
    TAKT_FIELD("class", service_class),
    TAKT_FIELD("tier", tier),
    TAKT_FIELD("task", task),
    TAKT_FIELD("model", model),
    TAKT_FIELD("ttft_target_ns", targets.ttft),
    TAKT_FIELD("itl_target_ns", targets.itl),
    TAKT_FIELD("completion_target_ns", targets.completion),
    TAKT_FIELD("queue_wait_target_ns", targets.queue_wait),
    TAKT_FIELD("deadline_ns", deadline),
    TAKT_FIELD("work", work),
    TAKT_FIELD("sampling", sampling),
    TAKT_FIELD("stream", stream),
    TAKT_FIELD("choices", choices),
    TAKT_FIELD("max_tokens", max_tokens),
    TAKT_FIELD("prompt_tokens", prompt_tokens),
    TAKT_FIELD("cached_tokens", cached_tokens),
    TAKT_FIELD("output_tokens", output_tokens),
    TAKT_FIELD("chunks", chunks),
    TAKT_FIELD("preemptions", preemptions),
    TAKT_FIELD("block_tokens", blocks.block_tokens),
    TAKT_FIELD("block_hashes", blocks.hashes),
    TAKT_FIELD("session", session),
    TAKT_FIELD("turn", turn),
    TAKT_FIELD("parent", parent),
    TAKT_FIELD("think_time_ns", think_time),
    TAKT_FIELD("outcome", outcome),
    TAKT_FIELD("error", error),
    TAKT_FIELD("finish", finish),
    TAKT_FIELD("queued_ns", timings.queued),
    TAKT_FIELD("scheduled_ns", timings.scheduled),
    TAKT_FIELD("first_token_ns", timings.first_token),
    TAKT_FIELD("last_token_ns", timings.last_token),
    TAKT_FIELD("ended_ns", timings.ended),
    TAKT_FIELD("cancelled_ns", timings.cancelled),
    TAKT_FIELD("prompt_text", prompt_text),
    TAKT_FIELD("answer_text", answer_text),
};
#undef TAKT_FIELD

// Fields come in the table's order, so the next one is usually the one.
std::size_t field_index(std::string_view name, std::size_t guess) {
  for (std::size_t i = 0; i < kRecordFields.size(); ++i) {
    const std::size_t index = (guess + i) % kRecordFields.size();
    if (name == kRecordFields[index].name) return index;
  }
  return kRecordFields.size();
}

Status check_shape(const Record& record) {
  if (record.arrival < Duration(0)) return Error::invalid("arrival_ns", "arrival_ns must be from 0");
  if (record.prompt_tokens == 0 && record.outcome != Outcome::kRefused && record.outcome != Outcome::kCancelled &&
      record.outcome != Outcome::kFailed)
    return Error::invalid("prompt_tokens", "prompt_tokens must be above 0 for a request that was answered");
  if (record.choices == 0) return Error::invalid("choices", "choices must be above 0");
  const PromptBlocks& blocks = record.blocks;
  if (blocks.block_tokens == 0 && !blocks.hashes.empty())
    return Error::invalid("block_tokens", "block_tokens must be above 0 where there are block_hashes");
  if (blocks.block_tokens > 0 &&
      blocks.hashes.size() > (std::uint64_t{record.prompt_tokens} + blocks.block_tokens - 1) / blocks.block_tokens)
    return Error::invalid("block_hashes", "block_hashes has more blocks than the prompt");
  return {};
}

}  // namespace

void append_record_fields(std::string& out, const Record& record) {
  char separator = '{';
  for (const RecordField& field : kRecordFields) {
    out += separator;
    separator = ',';
    out += '"';
    out += field.name;
    out += "\":";
    field.put_to(out, record);
  }
}

Result<Record> record_of(const json::object& fields, const char* skip) {
  Record record;
  std::bitset<kRecordFields.size()> seen;
  std::size_t guess = 0;
  for (const auto& member : fields) {
    const std::string_view name(member.key().data(), member.key().size());
    if (name == skip) continue;
    const std::size_t index = field_index(name, guess);
    if (index == kRecordFields.size()) return Error::invalid(std::string(name), "unknown field " + std::string(name));
    if (!kRecordFields[index].take_from(member.value(), record))
      return Error::invalid(std::string(name), std::string(name) + " has a value of the wrong kind or size");
    seen.set(index);
    guess = index + 1;
  }
  for (std::size_t i = 0; i < kRecordFields.size(); ++i) {
    if (!seen[i]) return Error::invalid(kRecordFields[i].name, std::string(kRecordFields[i].name) + " is missing");
  }
  if (const Status sound = check_shape(record); !sound) return sound.error();
  return record;
}

}  // namespace takt::trace

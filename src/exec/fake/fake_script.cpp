#include "exec/fake/fake_script.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <utility>
#include <vector>

#include "exec/fake/fake_pieces.h"

namespace takt {

namespace {

struct Setting {
  std::string key;
  std::string value;
};

Result<std::vector<Setting>> split_settings(std::string_view script) {
  std::vector<Setting> settings;
  Setting current;
  bool in_value = false;
  const auto finish = [&]() -> Status {
    if (!in_value) return Error::invalid(current.key, "\"" + current.key + "\" in the fake script has no value.");
    settings.push_back(std::exchange(current, {}));
    in_value = false;
    return {};
  };
  for (std::size_t i = 0; i < script.size(); ++i) {
    char c = script[i];
    if (c == ',') {
      if (Status done = finish(); !done.ok()) return done.error();
      continue;
    }
    if (c == '=' && !in_value) {
      in_value = true;
      continue;
    }
    if (c == '\\' && i + 1 < script.size()) c = script[++i];
    (in_value ? current.value : current.key) += c;
  }
  if (!script.empty()) {
    if (Status done = finish(); !done.ok()) return done.error();
  }
  return settings;
}

Result<std::uint64_t> parse_number(const Setting& setting, std::uint64_t low, std::uint64_t high) {
  std::uint64_t number = 0;
  const char* end = setting.value.data() + setting.value.size();
  const auto [rest, error] = std::from_chars(setting.value.data(), end, number);
  if (error != std::errc{} || rest != end || number < low || number > high) {
    return Error::invalid(setting.key, "\"" + setting.key + "\" in the fake script must be a number from " +
                                           std::to_string(low) + " to " + std::to_string(high) + ".");
  }
  return number;
}

Status parse_failure(const Setting& setting, FakeFailure& failure) {
  constexpr std::array<std::pair<std::string_view, FakeFailure>, 8> kNames = {{{"once", FakeFailure::kOnce},
                                                                               {"always", FakeFailure::kAlways},
                                                                               {"submit", FakeFailure::kSubmit},
                                                                               {"throw", FakeFailure::kThrow},
                                                                               {"entry", FakeFailure::kEntry},
                                                                               {"unsampled", FakeFailure::kUnsampled},
                                                                               {"fatal", FakeFailure::kFatal},
                                                                               {"stall", FakeFailure::kStall}}};
  for (const auto& [name, value] : kNames) {
    if (name != setting.value) continue;
    failure = value;
    return {};
  }
  return Error::invalid(
      "fail", "\"fail\" in the fake script must be once, always, submit, throw, entry, unsampled, fatal or stall.");
}

struct NumberKey {
  std::string_view key;
  std::uint64_t low;
  std::uint64_t high;
  std::function<void(FakeScript&, std::uint64_t)> set;
};

const std::vector<NumberKey>& number_keys() {
  using std::chrono::microseconds;
  using std::chrono::milliseconds;
  using std::chrono::nanoseconds;
  static const std::vector<NumberKey> kKeys = {
      {"length", 1, 1'000'000, [](FakeScript& s, std::uint64_t n) { s.length = static_cast<std::uint32_t>(n); }},
      {"bytes_per_token", 1, 16,
       [](FakeScript& s, std::uint64_t n) { s.bytes_per_token = static_cast<std::uint32_t>(n); }},
      {"step_ms", 0, 600'000, [](FakeScript& s, std::uint64_t n) { s.step_cost = milliseconds(n); }},
      {"step_us", 0, 600'000'000, [](FakeScript& s, std::uint64_t n) { s.step_cost = microseconds(n); }},
      {"token_us", 0, 10'000'000, [](FakeScript& s, std::uint64_t n) { s.token_cost = microseconds(n); }},
      {"attended_ns", 0, 1'000'000, [](FakeScript& s, std::uint64_t n) { s.attended_cost = nanoseconds(n); }},
      {"copy_us", 0, 10'000'000, [](FakeScript& s, std::uint64_t n) { s.copy_cost = microseconds(n); }},
      {"fail_step", 1, 1ULL << 40, [](FakeScript& s, std::uint64_t n) { s.fail_step = n; }},
      {"stall_ms", 0, 3'600'000, [](FakeScript& s, std::uint64_t n) { s.stall = milliseconds(n); }},
      {"context", 16, 1U << 24,
       [](FakeScript& s, std::uint64_t n) { s.context_tokens = static_cast<std::uint32_t>(n); }},
      {"block_tokens", 1, 1024, [](FakeScript& s, std::uint64_t n) { s.block_tokens = static_cast<std::uint32_t>(n); }},
      {"blocks", 2, 1U << 20, [](FakeScript& s, std::uint64_t n) { s.block_count = static_cast<std::uint32_t>(n); }},
      {"groups", 1, 2, [](FakeScript& s, std::uint64_t n) { s.groups = static_cast<std::uint32_t>(n); }},
      {"seqs", 1, 65'536, [](FakeScript& s, std::uint64_t n) { s.max_sequences = static_cast<std::uint32_t>(n); }},
      {"step_tokens", 2, 1U << 20,
       [](FakeScript& s, std::uint64_t n) { s.max_step_tokens = static_cast<std::uint32_t>(n); }},
  };
  return kKeys;
}

Status apply(const Setting& setting, FakeScript& script) {
  if (setting.key == "text") {
    script.text = setting.value;
    return {};
  }
  if (setting.key == "fail") return parse_failure(setting, script.fail);
  for (const NumberKey& key : number_keys()) {
    if (key.key != setting.key) continue;
    const auto number = parse_number(setting, key.low, key.high);
    if (!number.ok()) return number.error();
    key.set(script, number.value());
    return {};
  }
  return Error::invalid(setting.key, "\"" + setting.key + "\" is not a setting of the fake script.");
}

// The characters that stand for bytes in byte-level BPE vocabularies: printable Latin-1 stands for itself, the rest
// moves to U+0100 and up.
std::string byte_spelling(int byte) {
  const auto prints = [](int b) { return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255); };
  int code = byte;
  if (!prints(byte)) {
    code = 256;
    for (int b = 0; b < byte; ++b) code += prints(b) ? 0 : 1;
  }
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))};
}

std::string spelling(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += byte_spelling(static_cast<unsigned char>(c));
  return text;
}

constexpr const char* kChatTemplate =
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

}  // namespace

Result<FakeScript> parse_fake_script(std::string_view text) {
  const auto settings = split_settings(text);
  if (!settings.ok()) return settings.error();
  FakeScript script;
  for (const Setting& setting : settings.value()) {
    if (Status applied = apply(setting, script); !applied.ok()) return applied.error();
  }
  if (script.fail != FakeFailure::kNone && script.fail_step == 0) {
    return Error::invalid("fail_step", "\"fail\" in the fake script needs \"fail_step\".");
  }
  return script;
}

ModelVocabulary fake_vocabulary(const FakeScript& script) {
  ModelVocabulary vocabulary;
  vocabulary.kind = "gpt2";
  vocabulary.pre = "gpt-2";
  vocabulary.model_name = "fake";
  const auto add = [&](std::string token, TokenType type) {
    vocabulary.tokens.push_back(std::move(token));
    vocabulary.types.push_back(type);
  };
  for (int byte = 0; byte < 256; ++byte) add(byte_spelling(byte), TokenType::kNormal);
  for (const char* control : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) add(control, TokenType::kControl);
  const FakePieces pieces(script);
  for (const std::string& piece : pieces.extra_pieces()) add(spelling(piece), TokenType::kNormal);
  vocabulary.eos = kFakeImEnd;
  vocabulary.pad = kFakeEndOfText;
  vocabulary.add_bos = false;
  vocabulary.add_eos = false;
  vocabulary.end_of_generation = {kFakeEndOfText, kFakeImEnd};
  vocabulary.chat_template = kChatTemplate;
  return vocabulary;
}

}  // namespace takt

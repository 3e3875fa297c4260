// The script of a fake executor: `--model fake:SCRIPT`, e.g. "fake:text=Hello there.,step_ms=5,token_us=100". See
// docs/fake-model.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "core/ids.h"
#include "core/model_vocabulary.h"

namespace takt {

enum class FakeFailure : std::uint8_t {
  kNone,
  kOnce,       // one step fails
  kAlways,     // every step from then on fails
  kSubmit,     // one step is refused at submit
  kThrow,      // one step throws
  kEntry,      // the first entry of one step fails
  kUnsampled,  // the rows of one step are computed but left unsampled
  kFatal,      // the executor is gone
  kStall,      // one step takes stall_ms longer
};

struct FakeScript {
  // Answers: `text`, or letters made from the history; ended by the end token after `length` tokens (of `text`: at its
  // end).
  std::string text;
  std::uint32_t length = 32;
  std::uint32_t bytes_per_token = 1;  // 1 to 16

  // Cost of a step: step + token * rows + attended * attended positions.
  Duration step_cost{0};
  Duration token_cost{0};
  Duration attended_cost{0};
  Duration copy_cost{0};  // of a block's bytes, out or in

  std::uint64_t fail_step = 0;  // the first step whose id is at least this fails; the first real step is 1
  FakeFailure fail = FakeFailure::kNone;
  Duration stall = std::chrono::seconds(10);

  std::uint32_t context_tokens = 4096;
  std::uint32_t block_tokens = 16;
  std::uint32_t block_count = 1024;
  std::uint32_t groups = 1;  // 2: the second group has blocks of twice the size
  std::uint32_t max_sequences = 64;
  std::uint32_t max_step_tokens = 2048;
};

// `script` as after "fake:": key=value pairs separated by commas; a comma, equals sign or backslash in a value is
// written with a backslash before it. Keys: text, length, bytes_per_token, step_ms, step_us, token_us, attended_ns,
// copy_us, fail_step, fail (once | always | submit | throw | entry | unsampled | fatal | stall), stall_ms, context,
// block_tokens, blocks, groups, seqs, step_tokens. Errors name the key.
Result<FakeScript> parse_fake_script(std::string_view script);

// Byte tokens 0..255 (kind gpt2), <|endoftext|>, <|im_start|>, <|im_end|>, then the pieces that answers are made of
// when bytes_per_token > 1; with a ChatML chat template.
ModelVocabulary fake_vocabulary(const FakeScript& script);

inline constexpr TokenId kFakeEndOfText = 256;
inline constexpr TokenId kFakeImStart = 257;
inline constexpr TokenId kFakeImEnd = 258;

}  // namespace takt

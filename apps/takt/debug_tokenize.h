// `takt debug tokenize`: a model's tokenizer as a filter of JSON lines, for people who check us.
#pragma once

#include <filesystem>
#include <iosfwd>

namespace takt {

class Tokenizer;

// One line out per line in. In: {"text", "add_special"?: bool, "parse_special"?: bool}. Out: {"ids": [...]}, or
// {"error": text}. A beginning that the text writes out itself is kept beside the added one, as the reference encoders
// do. Blank lines are passed over. Returns the process's exit code: 0, or 1 when the model's vocabulary can't be used
// (one line, {"error": ...}) or the output can't be written. Vocabulary-only files do.
int run_debug_tokenize(const std::filesystem::path& model, std::istream& in, std::ostream& out);

// The same with a tokenizer at hand.
int run_debug_tokenize(const Tokenizer& tokenizer, std::istream& in, std::ostream& out);

}  // namespace takt

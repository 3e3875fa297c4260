// Bytes per second of each tokenizer: prose, code-like text without a space, spaces.
//   bench_tokenize VOCABULARY.gguf... [--benchmark_*]
#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "model/gguf.h"
#include "model/vocabulary.h"
#include "text/tokenizer.h"

namespace {

constexpr std::size_t kMegabyte = 1U << 20U;

std::string repeated(const std::string& unit) {
  std::string text;
  text.reserve(kMegabyte + unit.size());
  while (text.size() < kMegabyte) text += unit;
  return text;
}

// English prose: the licence.
std::string prose() {
  std::ifstream in(TAKT_SOURCE_DIR "/LICENSE", std::ios::binary);
  std::string licence{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return repeated(licence.empty() ? std::string("The licence of the project is missing here. ") : licence);
}

// Lower-case letters in an order that does not repeat soon.
std::string one_word() {
  std::string text(kMegabyte, 'a');
  std::uint64_t state = 88172645463325252ULL;
  for (char& c : text) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    c = static_cast<char>('a' + state % 26);
  }
  return text;
}

takt::Result<std::unique_ptr<takt::Tokenizer>> load(const std::filesystem::path& path) {
  const auto file = takt::GgufFile::open(path);
  if (!file) return file.error();
  auto vocabulary = takt::read_vocabulary(*file);
  if (!vocabulary) return vocabulary.error();
  return takt::Tokenizer::create(std::move(vocabulary).value());
}

void encode(benchmark::State& state, const takt::Tokenizer& tokenizer, const std::string& text) {
  for (auto _ : state) {
    auto ids = tokenizer.encode(text, {});
    if (!ids) {
      state.SkipWithError(ids.error().message.c_str());
      break;
    }
    benchmark::DoNotOptimize(ids.value().data());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::vector<std::pair<std::string, std::string>> texts{
      {"prose", prose()}, {"one_word", one_word()}, {"one_letter", repeated("a")}, {"spaces", repeated(" ")}};
  std::vector<std::unique_ptr<takt::Tokenizer>> tokenizers;
  for (int i = 1; i < argc; ++i) {
    auto tokenizer = load(argv[i]);
    if (!tokenizer) {
      std::cerr << argv[i] << ": " << tokenizer.error().message << '\n';
      return 1;
    }
    tokenizers.push_back(std::move(tokenizer).value());
    const std::string name = std::filesystem::path(argv[i]).stem().string();
    benchmark::RegisterBenchmark((name + "/load").c_str(), [path = std::string(argv[i])](benchmark::State& state) {
      for (auto _ : state) benchmark::DoNotOptimize(load(path).ok());
    })->Unit(benchmark::kMillisecond);
    for (const auto& [kind, text] : texts) {
      benchmark::RegisterBenchmark((name + "/" + kind).c_str(), [&tokenizer = *tokenizers.back(),
                                                                 &text](benchmark::State& state) {
        encode(state, tokenizer, text);
      })->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

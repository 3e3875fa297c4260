// Metadata and tensors checked against each other before anything is served (F8, F11), and loading of the tests' own
// model.
#include "model/load.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/gguf_writer.h"

namespace takt {
namespace {

using testing::GgufWriter;
using testing::parse_gguf;

constexpr const char* kTiny = TAKT_SOURCE_DIR "/tests/data/tiny.gguf";

// A llama of one layer, 32 wide, two heads of 16, F32 weights of 0.5; `change` may replace a number by another.
struct SmallLlama {
  std::uint32_t context = 64, width = 32, layers = 1, feed_forward = 32, heads = 2, kv_heads = 1;
  float epsilon = 1e-5F;
  std::string scaling = "";
  std::uint32_t key_length = 0;
  std::size_t output_rows = 32;  // of blk.0.attn_output
  std::uint32_t weight_type = 0;
  float weight = 0.5F;
  std::optional<float> rope_factor = {};

  std::string bytes() const {
    GgufWriter writer;
    writer.add_string("general.architecture", "llama");
    writer.add_u32("llama.context_length", context);
    writer.add_u32("llama.embedding_length", width);
    writer.add_u32("llama.block_count", layers);
    writer.add_u32("llama.feed_forward_length", feed_forward);
    writer.add_u32("llama.attention.head_count", heads);
    writer.add_u32("llama.attention.head_count_kv", kv_heads);
    writer.add_f32("llama.attention.layer_norm_rms_epsilon", epsilon);
    if (!scaling.empty()) writer.add_string("llama.rope.scaling.type", scaling);
    if (key_length != 0) writer.add_u32("llama.attention.key_length", key_length);
    writer.add_string("tokenizer.ggml.model", "gpt2");
    writer.add_strings("tokenizer.ggml.tokens", {"a", "b", "c"});
    add(writer, "token_embd.weight", {32, 3}, 0);
    add(writer, "output_norm.weight", {32}, 0);
    for (const char* norm : {"attn_norm", "ffn_norm"}) add(writer, std::string("blk.0.") + norm + ".weight", {32}, 0);
    add(writer, "blk.0.attn_q.weight", {32, 32}, weight_type);
    add(writer, "blk.0.attn_k.weight", {32, 16}, 0);
    add(writer, "blk.0.attn_v.weight", {32, 16}, 0);
    add(writer, "blk.0.attn_output.weight", {32, output_rows}, 0);
    for (const char* matrix : {"ffn_gate", "ffn_up", "ffn_down"}) {
      add(writer, std::string("blk.0.") + matrix + ".weight", {32, 32}, 0);
    }
    if (rope_factor) add_filled(writer, "rope_freqs.weight", {8}, 0, *rope_factor);
    return writer.bytes();
  }

  void add(GgufWriter& writer, const std::string& name, const std::vector<std::uint64_t>& shape,
           std::uint32_t type) const {
    add_filled(writer, name, shape, type, weight);
  }
  static void add_filled(GgufWriter& writer, const std::string& name, const std::vector<std::uint64_t>& shape,
                         std::uint32_t type, float value) {
    std::size_t values = 1;
    for (const std::uint64_t extent : shape) values *= extent;
    std::string data(values * sizeof(float), '\0');
    for (std::size_t i = 0; i < values; ++i) std::memcpy(data.data() + i * sizeof(float), &value, sizeof value);
    writer.add_tensor(name, shape, type, data);
  }

  // The field of the refusal; empty when the file is accepted.
  std::string refused() const {
    const std::string file_bytes = bytes();
    const auto file = parse_gguf(file_bytes);
    if (!file) return file.error().field;
    const auto model = plan_model(*file, "small");
    return model.ok() ? "" : model.error().field;
  }
};

TEST(PlanModel, AcceptsAGoodFile) {
  EXPECT_EQ(SmallLlama().refused(), "");
}

TEST(PlanModel, EachWrongNumberIsRefusedByItsKey) {
  EXPECT_EQ(SmallLlama{.context = 0}.refused(), "llama.context_length");
  EXPECT_EQ(SmallLlama{.width = 0}.refused(), "llama.embedding_length");
  EXPECT_EQ(SmallLlama{.layers = 0xFFFFFFFFU}.refused(), "llama.block_count");
  EXPECT_EQ(SmallLlama{.layers = 2}.refused(), "blk.1.attn_norm.weight");
  EXPECT_EQ(SmallLlama{.heads = 0}.refused(), "llama.attention.head_count");
  EXPECT_EQ(SmallLlama{.heads = 5}.refused(), "llama.attention.head_count");
  EXPECT_EQ(SmallLlama{.kv_heads = 3}.refused(), "llama.attention.head_count_kv");
  EXPECT_EQ(SmallLlama{.epsilon = std::numeric_limits<float>::quiet_NaN()}.refused(),
            "llama.attention.layer_norm_rms_epsilon");
  EXPECT_EQ(SmallLlama{.scaling = "longrope"}.refused(), "llama.rope.scaling.type");
}

TEST(PlanModel, EachWrongTensorIsRefusedByItsName) {
  EXPECT_EQ(SmallLlama{.output_rows = 16}.refused(), "blk.0.attn_output.weight");
  EXPECT_EQ(SmallLlama{.key_length = 24}.refused(), "blk.0.attn_q.weight");
  EXPECT_EQ(SmallLlama{.weight_type = 26}.refused(), "blk.0.attn_q.weight");  // I32: known, but no weights
}

TEST(CheckWeights, RefusesRopeFactorsThatNoAnswerCanComeOf) {
  ThreadPool pool(1);
  const auto refused = [&](float factor) -> std::string {
    const std::string bytes = SmallLlama{.rope_factor = factor}.bytes();
    const Status status = check_weights(*parse_gguf(bytes), pool);
    return status.ok() ? "" : status.error().field;
  };
  EXPECT_EQ(refused(8.0F), "");
  for (const float factor : {0.0F, -1.0F, 1e-30F, 1e30F}) EXPECT_EQ(refused(factor), "rope_freqs.weight") << factor;
}

TEST(LoadModel, ReadsTheTestsOwnModelAndReportsProgressToTheLastByte) {
  ThreadPool pool(2);
  std::uint64_t last = 0;
  std::uint64_t total = 0;
  const auto model = load_model(kTiny, pool, [&](std::uint64_t done, std::uint64_t all) {
    EXPECT_GT(done, last);
    last = done;
    total = all;
  });
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->name, "tiny");
  EXPECT_EQ(model->vocabulary.tokens.size(), 286U);
  EXPECT_EQ(model->decoder->hyperparameters().kv_heads, 2U);
  EXPECT_GT(total, 0U);
  EXPECT_EQ(last, total);  // E9
}

TEST(LoadModel, PlanningAddsUpTheSameMemoryAsLoading) {
  ThreadPool pool(1);
  const auto file = GgufFile::open(kTiny);
  const auto planned = plan_model(*file, "tiny");
  const auto loaded = load_model(kTiny, pool);
  ASSERT_TRUE(planned.ok() && loaded.ok());
  EXPECT_EQ(planned->weight_bytes, loaded->weight_bytes);
}

TEST(LoadModel, WeightsThatStayInTheFileTakeNoMemoryButForTheVectors) {
  ThreadPool pool(1);
  const auto file = GgufFile::open(kTiny);
  const auto planned = plan_model(*file, "tiny", WeightPlace::kFile);
  const auto loaded = load_model(kTiny, pool, {}, WeightPlace::kFile);
  ASSERT_TRUE(planned.ok() && loaded.ok());
  EXPECT_EQ(planned->weight_bytes, loaded->weight_bytes);
  EXPECT_LT(planned->weight_bytes * 50, plan_model(*file, "tiny")->weight_bytes);
}

TEST(LoadModel, WeightsThatStayInTheFileAreScannedAllTheSame) {
  ThreadPool pool(1);
  std::ifstream in(kTiny, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  bytes.replace(bytes.size() - 256, 256, 256, '\xff');
  const auto path = std::filesystem::path(::testing::TempDir()) / ("takt-nan" + std::to_string(::getpid()) + ".gguf");
  std::ofstream(path, std::ios::binary) << bytes;
  const auto model = load_model(path, pool, {}, WeightPlace::kFile);
  std::filesystem::remove(path);
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.error().message.find("output.weight: holds a value that is not finite"), std::string::npos);
}

TEST(LoadModel, WeightsCanBeCheckedWithoutLoadingThem) {
  ThreadPool pool(2);
  std::ifstream in(kTiny, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto check = [&] {
    return check_weights(*GgufFile::parse(memory_source(std::as_bytes(std::span(bytes)))), pool);
  };
  const auto good = check();
  EXPECT_TRUE(good.ok()) << good.error().message;
  // All bits set are a NaN in every type: as a value, or as the scale of a block.
  bytes.replace(bytes.size() - 256, 256, 256, '\xff');
  const auto bad = check();
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message, "tensor output.weight: holds a value that is not finite (NaN or infinity)");
}

// A file's bytes that remember how they were read.
class WatchedBytes final : public ByteSource {
 public:
  struct Read {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };

  explicit WatchedBytes(std::string bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Status read(std::uint64_t offset, std::span<std::byte> out) const override {
    reads_.push_back({offset, out.size()});
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return {};
  }

  void forget() { reads_.clear(); }
  const std::vector<Read>& reads() const { return reads_; }

 private:
  std::string bytes_;
  mutable std::vector<Read> reads_;
};

TEST(LoadModel, WeightsAreReadOnceFromTheFrontToTheBack) {
  ThreadPool pool(1);
  std::ifstream in(kTiny, std::ios::binary);
  const auto bytes = std::make_shared<WatchedBytes>(std::string{std::istreambuf_iterator<char>(in), {}});
  const auto file = GgufFile::parse(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  bytes->forget();
  ASSERT_TRUE(check_weights(*file, pool));
  std::uint64_t end = 0;
  std::uint64_t sum = 0;
  for (const WatchedBytes::Read& read : bytes->reads()) {
    EXPECT_GE(read.offset, end);
    end = read.offset + read.bytes;
    sum += read.bytes;
  }
  std::uint64_t tensors = 0;
  for (const GgufTensor& tensor : file->tensors()) tensors += tensor.bytes;
  EXPECT_EQ(sum, tensors);
}

TEST(LoadModel, OfSeveralFaultsTheFirstInTheFileIsNamedWhateverTheThreads) {
  ThreadPool pool(3);
  std::ifstream in(kTiny, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto file = parse_gguf(bytes);
  std::vector<GgufTensor> tensors = file->tensors();
  std::sort(tensors.begin(), tensors.end(),
            [](const GgufTensor& a, const GgufTensor& b) { return a.file_offset < b.file_offset; });
  const std::size_t middle = tensors.size() / 2;
  for (std::size_t i = middle; i < tensors.size(); ++i) bytes.replace(tensors[i].file_offset, 256, 256, '\xff');
  const auto broken = parse_gguf(bytes);
  for (int again = 0; again < 20; ++again) {
    const Status status = check_weights(*broken, pool);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().field, tensors[middle].name);
  }
}

TEST(LoadModel, AFileThatIsOpenIsNotReadAgainForItsMetadata) {
  ThreadPool pool(2);
  const auto path = std::filesystem::path(::testing::TempDir()) / ("takt-open" + std::to_string(::getpid()) + ".gguf");
  std::filesystem::copy_file(kTiny, path);
  auto planned = open_model(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(planned.ok()) << planned.error().message;
  EXPECT_EQ(planned->plan.vocabulary.tokens.size(), 286U);
  const auto model = load_model(std::move(*planned), pool);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->name, "tiny");
  EXPECT_EQ(model->vocabulary.tokens.size(), 286U);
}

TEST(LoadModel, TheErrorBeginsWithThePath) {
  ThreadPool pool(1);
  const auto model = load_model("/nonexistent/x.gguf", pool);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().message.rfind("/nonexistent/x.gguf", 0), 0U);
}

}  // namespace
}  // namespace takt

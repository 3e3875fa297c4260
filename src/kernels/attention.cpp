#include "kernels/attention.h"

#include <algorithm>
#include <string>

namespace takt {
namespace {

// Limits of a block's geometry: a product of all of them still fits 63 bits.
constexpr std::uint32_t kMostLayers = 4096;
constexpr std::uint32_t kMostHeads = 4096;
constexpr std::uint32_t kMostDim = 8192;
constexpr std::uint32_t kMostBlockTokens = 4096;

bool within(std::uint32_t value, std::uint32_t most) {
  return value >= 1 && value <= most;
}

Status check_rows(const KvBlocks& cache, std::uint32_t layer, std::span<const AttentionRows> sequences,
                  std::size_t matrix_rows) {
  if (Status status = cache.layout.check(); !status) return status;
  if (layer >= cache.layout.layers) return Error::internal("attention: there is no layer " + std::to_string(layer));
  for (const AttentionRows& s : sequences) {
    const std::uint64_t end = std::uint64_t{s.first_position} + s.count;
    if (end > s.blocks.size() * std::uint64_t{cache.layout.block_tokens})
      return Error::internal("attention: a block table is too short");
    if (s.first_row > matrix_rows || s.count > matrix_rows - s.first_row)
      return Error::internal("attention: rows outside the step");
    for (const std::uint32_t block : s.blocks) {
      if (block >= cache.block_count)
        return Error::internal("attention: there is no KV block " + std::to_string(block));
    }
  }
  return {};
}

std::byte* key_tile(const KvBlocks& cache, const AttentionRows& s, std::uint32_t layer, std::uint32_t head,
                    std::uint32_t position) {
  const KvLayout& layout = cache.layout;
  const std::size_t block = s.blocks[position / layout.block_tokens];
  return cache.data + block * layout.block_bytes() + layout.tile_offset(layer, head, position % layout.block_tokens);
}

}  // namespace

std::string_view kv_type_name(KvType type) {
  switch (type) {
    case KvType::kF16:
      return "f16";
    case KvType::kF32:
      return "f32";
    case KvType::kQ8_0:
      return "q8_0";
  }
  return "unknown";
}

Status KvLayout::check() const {
  if (!within(layers, kMostLayers) || !within(kv_heads, kMostHeads) || !within(key_dim, kMostDim) ||
      !within(value_dim, kMostDim)) {
    return Error::invalid("kv layout",
                          "layers, KV heads and head sizes must be at least 1 and at most 4096, 4096 and 8192");
  }
  if (!within(block_tokens, kMostBlockTokens) || block_tokens % kAttentionTile != 0) {
    return Error::invalid("kv.block_tokens", "a KV block holds a multiple of 16 tokens, at most 4096, not " +
                                                 std::to_string(block_tokens));
  }
  return {};
}

Status store_keys_values(const Compute& compute, const KvBlocks& cache, std::uint32_t layer,
                         std::span<const AttentionRows> sequences, ConstMatrixView keys, ConstMatrixView values) {
  const KvLayout& layout = cache.layout;
  if (Status status = check_rows(cache, layer, sequences, std::min(keys.rows, values.rows)); !status) return status;
  if (keys.cols != std::size_t{layout.kv_heads} * layout.key_dim ||
      values.cols != std::size_t{layout.kv_heads} * layout.value_dim) {
    return Error::internal("attention: keys or values are not kv_heads * head size wide");
  }
  for (const AttentionRows& s : sequences) {
    for (std::uint32_t i = 0; i < s.count; ++i) {
      const std::uint32_t position = s.first_position + i;
      for (std::uint32_t head = 0; head < layout.kv_heads; ++head) {
        std::byte* tile = key_tile(cache, s, layer, head, position);
        compute.kernels.store_key_value({.type = layout.type,
                                         .key = keys.row(s.first_row + i) + std::size_t{head} * layout.key_dim,
                                         .value = values.row(s.first_row + i) + std::size_t{head} * layout.value_dim,
                                         .key_dim = layout.key_dim,
                                         .value_dim = layout.value_dim,
                                         .value_stride = layout.value_stride(),
                                         .key_tile = tile,
                                         .value_tile = tile + layout.key_tile_bytes(),
                                         .lane = position % kAttentionTile});
      }
    }
  }
  return {};
}

// One call of attend(): cuts the step into items of (rows, KV head, segment), computes them in any order, merges
// segments in order.
class AttentionRun {
 public:
  AttentionRun(const Compute& compute, const KvBlocks& cache, const AttentionParams& params,
               std::span<const AttentionRows> sequences, ConstMatrixView queries, MatrixView out,
               AttentionWorkspace& workspace)
      : compute_(compute),
        cache_(cache),
        layout_(cache.layout),
        params_(params),
        sequences_(sequences),
        queries_(queries),
        out_(out),
        workspace_(workspace),
        group_(params.heads / cache.layout.kv_heads),
        partial_floats_(layout_.value_stride() + kPartialHead) {}

  Status run() {
    plan();
    if (!workspace_.partials_.reserve(partial_count_ * partial_floats_ * sizeof(float)) ||
        !workspace_.scratch_.reserve(static_cast<std::size_t>(compute_.pool.threads()) * scratch_floats() *
                                     sizeof(float))) {
      return Error{ErrorCode::kResourceExhausted, "no memory for the attention of a step", {}};
    }
    compute_.pool.run(workspace_.items_.size(),
                      [this](std::size_t item, int worker) { compute_item(workspace_.items_[item], worker); });
    compute_.pool.run(workspace_.merges_.size(), [this](std::size_t i, int) { merge_rows(workspace_.merges_[i]); });
    return {};
  }

 private:
  using Item = AttentionWorkspace::Item;
  using Merge = AttentionWorkspace::Merge;
  static constexpr std::size_t kPartialHead = 2;  // maximum and sum before the values
  static constexpr std::uint32_t kRowsPerMerge = 16;
  // Reading a stored value costs about as much as the arithmetic of so many queries on it.
  static constexpr std::uint64_t kReadingInQueries = 2;

  // First and last + 1 segment that the row at `position` sees.
  std::uint32_t first_segment(std::uint32_t position) const {
    return first_seen(position) / static_cast<std::uint32_t>(kAttentionSegment);
  }
  static std::uint32_t end_segment(std::uint32_t position) {
    return position / static_cast<std::uint32_t>(kAttentionSegment) + 1;
  }
  std::uint32_t first_seen(std::uint32_t position) const {
    return params_.window != 0 && position >= params_.window ? position - params_.window + 1 : 0;
  }

  // Segments that the rows of a sequence keep partial results for: those from the first row's first to the last row's
  // last.
  std::uint32_t kept_segments(const AttentionRows& s) const {
    return end_segment(s.first_position + s.count - 1) - first_segment(s.first_position);
  }

  void plan() {
    workspace_.items_.clear();
    workspace_.merges_.clear();
    workspace_.partial_offsets_.clear();
    const std::uint32_t heads = std::min<std::uint32_t>(group_, kQueriesPerSegment);
    const std::uint32_t rows = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(kQueriesPerSegment) / group_);
    for (std::uint32_t i = 0; i < sequences_.size(); ++i) {
      const AttentionRows& s = sequences_[i];
      workspace_.partial_offsets_.push_back(partial_count_);
      if (s.count == 0) continue;
      if (kept_segments(s) > 1) {
        partial_count_ += std::size_t{s.count} * params_.heads * kept_segments(s);
        for (std::uint32_t first = 0; first < s.count; first += kRowsPerMerge)
          workspace_.merges_.push_back({i, first, std::min(kRowsPerMerge, s.count - first)});
      }
      for (std::uint32_t first = 0; first < s.count; first += rows)
        plan_items(i, first, std::min(rows, s.count - first), heads);
    }
    // Threads take items one by one: with the dearest first, none is left with a dear one when the others are done.
    std::sort(workspace_.items_.begin(), workspace_.items_.end(),
              [](const Item& a, const Item& b) { return a.cost > b.cost; });
  }

  // Those of `count` rows of a sequence from row `first` on; at most `heads` query heads of a group share an item.
  void plan_items(std::uint32_t sequence, std::uint32_t first, std::uint32_t count, std::uint32_t heads) {
    const std::uint32_t first_position = sequences_[sequence].first_position + first;
    const std::uint32_t last_position = first_position + count - 1;
    for (std::uint32_t head = 0; head < layout_.kv_heads; ++head) {
      for (std::uint32_t in_group = 0; in_group < group_; in_group += heads) {
        const std::uint32_t n = std::min(heads, group_ - in_group);
        for (std::uint32_t segment = first_segment(first_position); segment < end_segment(last_position); ++segment) {
          const AttendedRange seen = range(last_position, segment);
          const std::uint64_t cost = (std::uint64_t{count} * n + kReadingInQueries) * (seen.end - seen.begin);
          workspace_.items_.push_back({sequence, first, count, head, in_group, n, segment, cost});
        }
      }
    }
  }

  std::size_t widest() const { return std::max<std::size_t>(layout_.key_dim, layout_.value_stride()); }
  std::size_t tile_floats() const { return kAttentionTile * widest(); }
  std::size_t scale_floats() const { return kAttentionTile * KvLayout::scales_of(widest()); }
  std::size_t scratch_floats() const {
    const std::size_t per_query = layout_.key_dim + kAttentionSegment + layout_.value_stride() + 2;
    const std::size_t floats = kQueriesPerSegment * per_query + tile_floats() + scale_floats();
    return (floats + 63) / 64 * 64;
  }

  float* partial(const Item& item, std::uint32_t row, std::uint32_t head, std::uint32_t segment) const {
    return partial_of(item.sequence, row, head) +
           (segment - first_segment(sequences_[item.sequence].first_position)) * partial_floats_;
  }
  float* partial_of(std::size_t sequence, std::uint32_t row, std::uint32_t head) const {
    const std::size_t slot = (std::size_t{row} * params_.heads + head) * kept_segments(sequences_[sequence]);
    return workspace_.partials_.as<float>() + (workspace_.partial_offsets_[sequence] + slot) * partial_floats_;
  }

  AttendedRange range(std::uint32_t position, std::uint32_t segment) const {
    const auto start = segment * static_cast<std::uint32_t>(kAttentionSegment);
    const std::uint32_t begin = std::max(first_seen(position), start) - start;
    const std::uint32_t end =
        position + 1 > start ? std::min<std::uint32_t>(position + 1 - start, kAttentionSegment) : 0;
    return {std::min(begin, end), end};
  }

  void compute_item(const Item& item, int worker) {
    const AttentionRows& s = sequences_[item.sequence];
    float* scratch = workspace_.scratch_.as<float>() + static_cast<std::size_t>(worker) * scratch_floats();
    float* scaled = scratch;
    AttendSegment segment;
    segment.type = layout_.type;
    segment.key_dim = layout_.key_dim;
    segment.value_stride = layout_.value_stride();
    segment.queries = std::size_t{item.count} * item.heads;
    segment.softcap = params_.softcap;
    segment.scaled_queries = scaled;
    segment.scores = scaled + kQueriesPerSegment * layout_.key_dim;
    segment.values = segment.scores + kQueriesPerSegment * kAttentionSegment;
    segment.maxima = segment.values + kQueriesPerSegment * layout_.value_stride();
    segment.sums = segment.maxima + kQueriesPerSegment;
    segment.tile = segment.sums + kQueriesPerSegment;
    segment.scales = segment.tile + tile_floats();
    for (std::uint32_t q = 0; q < segment.queries; ++q) {
      const std::uint32_t row = item.first + q / item.heads;
      const float* query = queries_.row(s.first_row + row) + std::size_t{head_of(item, q)} * layout_.key_dim;
      for (std::size_t d = 0; d < layout_.key_dim; ++d)
        scaled[std::size_t{q} * layout_.key_dim + d] = query[d] * params_.scale;
      segment.ranges[q] = range(s.first_position + row, item.segment);
    }
    find_tiles(item, s, segment);
    compute_.kernels.attend_segment(segment);
    for (std::uint32_t q = 0; q < segment.queries; ++q) keep(item, segment, q);
  }

  std::uint32_t head_of(const Item& item, std::uint32_t q) const {
    return item.kv_head * group_ + item.first_head + q % item.heads;
  }

  void find_tiles(const Item& item, const AttentionRows& s, AttendSegment& segment) const {
    const auto start = item.segment * static_cast<std::uint32_t>(kAttentionSegment);
    const std::uint32_t last = s.first_position + item.first + item.count;  // exclusive
    for (std::uint32_t t = 0; t < kTilesPerSegment; ++t) {
      const std::uint32_t position = start + t * static_cast<std::uint32_t>(kAttentionTile);
      if (position >= last) break;
      segment.key_tiles[t] = key_tile(cache_, s, params_.layer, item.kv_head, position);
      segment.value_tiles[t] = segment.key_tiles[t] + layout_.key_tile_bytes();
    }
  }

  // A sequence inside one segment is finished here, by the same merge; others leave their partial results.
  void keep(const Item& item, const AttendSegment& segment, std::uint32_t q) {
    const AttentionRows& s = sequences_[item.sequence];
    const AttendedRange& seen = segment.ranges[q];
    if (seen.begin >= seen.end) return;
    const std::uint32_t row = item.first + q / item.heads;
    const float* values = segment.values + q * layout_.value_stride();
    if (kept_segments(s) == 1) {
      float* out = out_.row(s.first_row + row) + std::size_t{head_of(item, q)} * layout_.value_dim;
      // Merging one segment: exp(0) is 1 and fma(1, x, 0) is x + 0 (which matters for -0).
      for (std::size_t d = 0; d < layout_.value_dim; ++d) out[d] = (values[d] + 0.0F) / segment.sums[q];
      return;
    }
    float* kept = partial(item, row, head_of(item, q), item.segment);
    kept[0] = segment.maxima[q];
    kept[1] = segment.sums[q];
    std::copy_n(values, layout_.value_stride(), kept + kPartialHead);
  }

  void merge_rows(const Merge& merge) {
    const AttentionRows& s = sequences_[merge.sequence];
    for (std::uint32_t row = merge.first; row < merge.first + merge.count; ++row) {
      const std::uint32_t position = s.first_position + row;
      const std::uint32_t skipped = first_segment(position) - first_segment(s.first_position);
      for (std::uint32_t head = 0; head < params_.heads; ++head) {
        compute_.kernels.merge_segments({.partials = partial_of(merge.sequence, row, head) + skipped * partial_floats_,
                                         .partial_stride = partial_floats_,
                                         .segments = end_segment(position) - first_segment(position),
                                         .value_dim = layout_.value_dim,
                                         .out = out_.row(s.first_row + row) + std::size_t{head} * layout_.value_dim});
      }
    }
  }

  const Compute& compute_;
  const KvBlocks& cache_;
  const KvLayout& layout_;
  const AttentionParams& params_;
  std::span<const AttentionRows> sequences_;
  ConstMatrixView queries_;
  MatrixView out_;
  AttentionWorkspace& workspace_;
  std::uint32_t group_;
  std::size_t partial_floats_;
  std::size_t partial_count_ = 0;
};

Status attend(const Compute& compute, const KvBlocks& cache, const AttentionParams& params,
              std::span<const AttentionRows> sequences, ConstMatrixView queries, MatrixView out,
              AttentionWorkspace& workspace) {
  const KvLayout& layout = cache.layout;
  if (Status status = check_rows(cache, params.layer, sequences, std::min(queries.rows, out.rows)); !status)
    return status;
  if (params.heads == 0 || params.heads % layout.kv_heads != 0)
    return Error::internal("attention: query heads are no multiple of the KV heads");
  if (queries.cols != std::size_t{params.heads} * layout.key_dim ||
      out.cols != std::size_t{params.heads} * layout.value_dim) {
    return Error::internal("attention: queries or output are not heads * head size wide");
  }
  return AttentionRun(compute, cache, params, sequences, queries, out, workspace).run();
}

}  // namespace takt

#include "load/synthetic_source.h"

#include "base/random.h"

namespace takt::load {
namespace {

class OpenSource final : public RequestSource {
 public:
  explicit OpenSource(OpenLoad load) : load_(std::move(load)) {}

  Result<std::optional<PlannedRequest>> next() override {
    const auto at = load_.next_arrival();
    if (!at) return std::optional<PlannedRequest>();
    const std::uint64_t draw = drawn_++;
    PlannedRequest request;
    request.at = *at;
    request.class_index = load_.class_index;
    request.application = load_.application;
    request.tenant = load_.tenant;
    request.prompt_tokens = load_.prompt(draw);
    request.output_tokens = load_.output(draw);
    request.text_seed = load_.seed ^ ((draw + 1) * 0x9E3779B97F4A7C15U);
    if (load_.shared_prefix_tokens > 0) {
      request.block_tokens = load_.shared_prefix_tokens;
      request.hashes = {load_.seed};
    }
    if (uniform01(load_.seed ^ 0xCA9CE1U, draw) < load_.cancel_share) request.cancel_after = load_.cancel_after;
    return std::optional(std::move(request));
  }

 private:
  OpenLoad load_;
  std::uint64_t drawn_ = 0;
};

class MergedSource final : public RequestSource {
 public:
  explicit MergedSource(std::vector<std::unique_ptr<RequestSource>> sources)
      : sources_(std::move(sources)), heads_(sources_.size()) {}

  Result<std::optional<PlannedRequest>> next() override {
    for (std::size_t i = begun_ ? taken_ : 0; i < (begun_ ? taken_ + 1 : heads_.size()) && i < heads_.size(); ++i) {
      auto head = sources_[i]->next();
      if (!head) return head.error();
      heads_[i] = std::move(*head);
    }
    begun_ = true;
    taken_ = heads_.size();
    for (std::size_t i = 0; i < heads_.size(); ++i) {
      if (heads_[i] && (taken_ == heads_.size() || heads_[i]->at < heads_[taken_]->at)) taken_ = i;
    }
    if (taken_ == heads_.size()) return std::optional<PlannedRequest>();
    return std::optional(std::move(*heads_[taken_]));
  }

 private:
  std::vector<std::unique_ptr<RequestSource>> sources_;
  std::vector<std::optional<PlannedRequest>> heads_;
  std::size_t taken_ = 0;  // whose head was given last
  bool begun_ = false;
};

}  // namespace

std::unique_ptr<RequestSource> make_open_source(OpenLoad load) {
  return std::make_unique<OpenSource>(std::move(load));
}

std::unique_ptr<RequestSource> merge_sources(std::vector<std::unique_ptr<RequestSource>> sources) {
  return std::make_unique<MergedSource>(std::move(sources));
}

}  // namespace takt::load

#include "trace/capture.h"

#include <algorithm>
#include <boost/json.hpp>
#include <exception>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/thread_name.h"
#include "trace/mix.h"
#include "trace/takt_format.h"

namespace takt::trace {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostQueuedBytes = std::size_t{16} << 20;
constexpr std::uint64_t kBytesPerToken = 4;  // of text that was never tokenized
constexpr Duration kFarAway = std::chrono::hours(24 * 365);

std::optional<Duration> promised(Duration target) {
  return target > Duration(0) && target < kFarAway ? std::optional(target) : std::nullopt;
}

Outcome outcome_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
    case FinishReason::kLength:
      return Outcome::kFinished;
    case FinishReason::kCancelled:
      return Outcome::kCancelled;
    case FinishReason::kExpired:
      return Outcome::kRefused;
    case FinishReason::kFailed:
      break;
  }
  return Outcome::kFailed;
}

Status make_folder(const std::string& folder) {
  std::error_code failure;
  if (fs::create_directories(folder, failure)) fs::permissions(folder, fs::perms::owner_all, failure);
  if (failure) return Error{ErrorCode::kIo, folder + ": " + failure.message(), "capture"};
  return {};
}

TaktTraceHead capture_head(const std::string& server, std::int64_t wall) {
  TaktTraceHead head;
  head.wall_nanoseconds = wall;
  head.run = static_cast<std::uint64_t>(wall);
  head.server = server;
  return head;
}

}  // namespace

Result<std::unique_ptr<Capture>> Capture::open(Setting setting, const Clock& clock) {
  if (const Status made = make_folder(setting.options.folder); !made) return made.error();
  auto secret = SecretFile::open((fs::path(setting.options.folder) / "capture.key").string());
  if (!secret) return secret.error();
  auto hash = KeyedHash::create(secret->secret());
  if (!hash) return hash.error();
  return std::unique_ptr<Capture>(new Capture(std::move(setting), std::move(*secret), std::move(*hash), clock));
}

Capture::Capture(Setting setting, SecretFile secret, KeyedHash hash, const Clock& clock)
    : setting_(std::move(setting)),
      secret_(std::move(secret)),
      clock_(clock),
      start_(clock.now()),
      hash_(std::move(hash)),
      segments_(setting_.options, capture_head(setting_.server, setting_.wall()), setting_.wall),
      writer_([this] {
        name_this_thread("takt-capture");
        write_out();
      }) {}

Capture::~Capture() {
  stop();
}

void Capture::stop() {
  if (!writer_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [id, alive] : alive_) {
      if (!alive.closed) end_with_server(alive);
      finish(alive);
    }
    alive_.clear();
    closing_ = true;
  }
  has_lines_.notify_all();
  writer_.join();
}

void Capture::describe(const std::string& settings,
                       const std::vector<std::pair<std::string, std::uint32_t>>& kv_blocks) {
  boost::json::object blocks;
  for (const auto& [model, count] : kv_blocks) blocks[model] = count;
  std::string configuration = R"({"kv_blocks":)" + boost::json::serialize(blocks);
  configuration += R"(,"settings":)" + (settings.empty() ? std::string("null") : settings) + "}";
  const std::lock_guard lock(mutex_);
  configuration_ = std::move(configuration);
  new_configuration_ = true;
}

CaptureCounts Capture::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

Record Capture::begin_record(RequestId id, TimePoint arrival, const RequestLabels& labels, const RequestHints& hints) {
  Record record;
  record.request = id.value;
  record.arrival = arrival - start_;
  record.wall_nanoseconds = setting_.wall() - Duration(clock_.now() - arrival).count();
  record.application = labels.application;
  record.service_class = labels.service_class;
  record.tier = labels.tier;
  record.task = hints.task;
  record.model = hints.model;
  record.stream = hints.stream;
  record.max_tokens = hints.max_tokens;
  record.tenant = hash_.name(labels.tenant);
  record.user = hash_.name(labels.user);
  if (!hints.session.empty()) {
    // Of a user: another's session of the same name is another.
    record.session = hash_.name(record.tenant + record.user + std::string(hints.session));
    const SessionLinks::Link link = sessions_.begin_turn(record.session, id, arrival);
    record.turn = link.turn;
    record.parent = link.parent;
    record.think_time = link.think_time;
  }
  return record;
}

void Capture::offered(const OfferedRequest& offered) noexcept {
  try {
    const EngineRequest& request = offered.request;
    // Each thread that prepares requests hashes for itself.
    auto hash = KeyedHash::create(secret_.secret());
    if (!hash) return;
    const std::uint64_t scope = mix(hash_text(offered.hints.model), request.cache_salt);
    std::vector<std::uint64_t> hashes = hash->blocks(request.prompt, setting_.block_tokens, scope);
    const std::lock_guard lock(mutex_);
    Alive alive;
    Record& record = alive.record;
    record = begin_record(request.id, request.arrival, request.labels, offered.hints);
    alive.arrival = request.arrival;
    record.targets = {promised(request.targets.ttft), promised(request.targets.itl),
                      promised(request.targets.completion), promised(request.targets.max_queue_wait)};
    record.deadline = promised(request.deadline);
    record.sampling = request.sampling.temperature == 0.0F ? SamplingKind::kGreedy : SamplingKind::kRandom;
    record.choices = request.choices;
    record.prompt_tokens = static_cast<std::uint32_t>(request.prompt.size());
    record.blocks = {setting_.block_tokens, std::move(hashes)};
    if (setting_.options.text) {
      record.prompt_text = offered.text_of(request.prompt);
      alive.text_of = offered.text_of;
    }
    alive_.insert_or_assign(request.id, std::move(alive));
  } catch (const std::exception& failure) {
    spdlog::error("capture: a request was lost: {}", failure.what());
  }
}

void Capture::refused(const RefusedRequest& refused) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    auto node = alive_.extract(refused.id);
    Alive alive;
    if (!node.empty()) {
      alive = std::move(node.mapped());
    } else {
      alive.arrival = refused.arrival;
      alive.record = begin_record(refused.id, refused.arrival, refused.labels, refused.hints);
      // Nobody counted its tokens. Without a size the load that was refused could not be played again.
      alive.record.prompt_tokens = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(refused.prompt_bytes / kBytesPerToken, std::numeric_limits<std::uint32_t>::max()));
    }
    alive.record.outcome = Outcome::kRefused;
    alive.record.error = to_string(refused.reason);
    alive.record.timings.ended = clock_.now() - alive.arrival;
    finish(alive);
  } catch (const std::exception& failure) {
    spdlog::error("capture: a request was lost: {}", failure.what());
  }
}

void Capture::publish(const std::vector<Event>& events) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    for (const Event& event : events) apply(event);
  } catch (const std::exception& failure) {
    spdlog::error("capture: events were lost: {}", failure.what());
  }
}

void Capture::apply(const Event& event) {
  std::visit(
      [&](const auto& what) {
        if constexpr (requires(Alive & alive) { on(alive, event.at, what); }) {
          const auto found = alive_.find(what.request);
          if (found == alive_.end()) return;
          on(found->second, event.at, what);
          if (!found->second.closed || !found->second.delivered) return;
          finish(found->second);
          alive_.erase(found);
        }
      },
      event.what);
}

void Capture::on(Alive& alive, TimePoint at, const Accepted& /*event*/) const {
  alive.record.timings.queued = at - alive.arrival;
}

void Capture::on(Alive& alive, TimePoint /*at*/, const Admitted& event) const {
  alive.record.cached_tokens = event.cached_tokens;
}

void Capture::on(Alive& alive, TimePoint at, const Seated& /*event*/) const {
  if (!alive.record.timings.scheduled) alive.record.timings.scheduled = at - alive.arrival;
}

void Capture::on(Alive& alive, TimePoint at, const TokenSampled& event) const {
  Timings& timings = alive.record.timings;
  if (!timings.first_token) timings.first_token = at - alive.arrival;
  timings.last_token = at - alive.arrival;
  ++alive.record.output_tokens;
  if (alive.text_of && event.choice == 0) alive.answer.push_back(event.token.token);
}

void Capture::on(Alive& alive, TimePoint /*at*/, const ChoiceFinished& event) const {
  if (event.reason != FinishReason::kFailed && event.reason != FinishReason::kExpired) return;
  alive.failed = alive.failed || event.reason == FinishReason::kFailed;
  alive.record.error = to_string(event.error.code);
}

void Capture::on(Alive& alive, TimePoint at, const Closed& event) const {
  alive.closed = true;
  Record& record = alive.record;
  record.outcome = alive.failed ? Outcome::kFailed : outcome_of(event.reason);
  if (record.outcome == Outcome::kRefused) record.error = to_string(ErrorCode::kExpired);
  record.finish = event.reason;
  record.preemptions = event.preemptions;
  record.chunks = event.prompt_steps;
  record.timings.ended = at - alive.arrival;
}

void Capture::on(Alive& alive, TimePoint at, const Delivered& event) const {
  alive.delivered = true;
  if (event.outcome == AnswerOutcome::kClientGone || event.outcome == AnswerOutcome::kSlowReader)
    alive.record.timings.cancelled = at - alive.arrival;
}

void Capture::end_with_server(Alive& alive) const {
  alive.record.outcome = Outcome::kFailed;
  alive.record.error = to_string(ErrorCode::kUnavailable);
  alive.record.finish = FinishReason::kFailed;
  alive.record.timings.ended = clock_.now() - alive.arrival;
}

void Capture::finish(Alive& alive) {
  Record& record = alive.record;
  if (alive.text_of) record.answer_text = alive.text_of(alive.answer);
  if (!record.session.empty())
    sessions_.end_turn(record.session, RequestId(record.request),
                       alive.arrival + record.timings.ended.value_or(Duration(0)));
  put(record);
}

void Capture::put(const Record& record) {
  if (closing_) return;
  if (lines_.size() >= kMostQueuedBytes) {
    ++counts_.lost_to_queue;
    return;
  }
  append_record_line(lines_, record);
  ++queued_records_;
  if (queued_records_ == 1) has_lines_.notify_one();
}

void Capture::write_out() {
  std::string lines;
  for (;;) {
    std::uint64_t records = 0;
    bool last = false;
    {
      std::unique_lock lock(mutex_);
      has_lines_.wait(lock, [this] { return closing_ || queued_records_ > 0; });
      has_lines_.wait_for(lock, setting_.gather, [this] { return closing_; });
      lines.clear();
      std::swap(lines, lines_);
      records = std::exchange(queued_records_, 0);
      if (std::exchange(new_configuration_, false)) segments_.describe(configuration_);
      last = closing_;
    }
    if (records > 0) write_lines(lines, records);
    if (last) return;
  }
}

void Capture::write_lines(const std::string& lines, std::uint64_t records) {
  Status written = segments_.append(lines);
  if (written) written = segments_.sync();
  if (!written && !disk_fails_)
    spdlog::warn("capture: {}; requests are served and not written down", written.error().message);
  if (written && disk_fails_) spdlog::info("capture: requests are written down again");
  disk_fails_ = !written;
  const std::lock_guard lock(mutex_);
  (written ? counts_.written : counts_.lost_to_disk) += records;
}

}  // namespace takt::trace

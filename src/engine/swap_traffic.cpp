#include "engine/swap_traffic.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace takt {

namespace {

// Of a fetched page; then the disk counts as gone for the sequence.
constexpr Duration kLongestRead = std::chrono::seconds(10);
// Weight of the newest transfer in the measured speed.
constexpr double kSpeedRate = 0.05;

void follow_speed(double& seconds, Duration took) {
  seconds += kSpeedRate * (to_seconds(took) - seconds);
}

}  // namespace

SwapTraffic::SwapTraffic(std::unique_ptr<SwapStore> store, Executor& executor, const KvCache& kv, const Clock& clock)
    : store_(std::move(store)), executor_(executor), kv_(kv), clock_(clock), page_tokens_(kv.geometry().alignment) {
  if (!store_) return;
  const SwapStoreInfo& info = store_->info();
  ledger_.emplace(info.pages);
  out_seconds_ = to_seconds(info.out_time);
  in_seconds_ = to_seconds(info.in_time);
  std::size_t offset = 0;
  const auto& groups = executor.capabilities().groups;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    parts_.push_back({GroupId(static_cast<std::uint32_t>(g)), groups[g].block_tokens, groups[g].block_bytes, offset});
    offset += page_tokens_ / groups[g].block_tokens * groups[g].block_bytes;
  }
  status_.arena_bytes = std::uint64_t{info.pages} * info.page_bytes;
}

void SwapTraffic::count(const SwapTransfer& transfer) {
  const std::uint64_t bytes = store_->info().page_bytes;
  (transfer.out ? status_.time_out : status_.time_in) += transfer.took;
  if (!transfer.status) {
    ++(transfer.out ? status_.failed_writes : status_.failed_reads);
    return;
  }
  (transfer.out ? status_.bytes_out : status_.bytes_in) += bytes;
  follow_speed(transfer.out ? out_seconds_ : in_seconds_, transfer.took);
}

std::span<const SequenceId> SwapTraffic::follow(TimePoint now) {
  lost_.clear();
  if (!store_) return lost_;
  over_.clear();
  store_->collect(over_);
  under_way_ -= static_cast<std::uint32_t>(over_.size());
  for (const SwapTransfer& transfer : over_) {
    count(transfer);
    const std::optional<SequenceId> owner = ledger_->transfer_over(transfer.page);
    if (!owner) {
      if (!store_->fetched(transfer.page).empty()) store_->let_go(transfer.page);
      continue;
    }
    if (!transfer.status) lose(*owner, transfer.status.error());
    for (Fetch& fetch : fetches_) {
      if (fetch.sequence == *owner) fetch.last_arrival = now;
    }
  }
  for (const Fetch& fetch : std::vector<Fetch>(fetches_)) {
    const auto pages = ledger_->pages_of(fetch.sequence);
    const bool waits = !pages.empty() && ledger_->state(pages.back()) != PageState::kHeld;
    if (!waits || now - fetch.last_arrival < kLongestRead) continue;
    ++status_.failed_reads;
    lose(fetch.sequence, {ErrorCode::kIo, "the swap arena does not answer", {}});
  }
  return lost_;
}

void SwapTraffic::lose(SequenceId sequence, const Error& why) {
  spdlog::warn("what sequence {} had in the swap arena is lost and is computed again: {}", sequence.value, why.message);
  release(sequence);
  lost_.push_back(sequence);
}

std::uint32_t SwapTraffic::arrived_pages(SequenceId sequence) const {
  const auto pages = ledger_->pages_of(sequence);
  const auto missing =
      std::find_if(pages.rbegin(), pages.rend(), [&](PageId page) { return store_->fetched(page).empty(); });
  return static_cast<std::uint32_t>(missing - pages.rbegin());
}

void SwapTraffic::fill(SwapView& view) const {
  view.arrivals.clear();
  if (!store_) return;
  view.total_pages = ledger_->size();
  view.free_pages = ledger_->free_count();
  view.out_pages = store_->room_out();
  view.out_seconds = out_seconds_;
  view.in_seconds = in_seconds_;
  for (const Fetch& fetch : fetches_) {
    if (const std::uint32_t pages = arrived_pages(fetch.sequence); pages > 0)
      view.arrivals.push_back({fetch.sequence, pages});
  }
}

// The blocks of a page's positions from `position` up to `end`, with where in the page each lies.
template <typename CopyBlock>
Status SwapTraffic::for_each_block(SequenceId sequence, std::uint32_t position, std::uint32_t end,
                                   CopyBlock copy_block) {
  const std::uint32_t page_end = std::min(end, position + page_tokens_);
  for (const Part& part : parts_) {
    const std::span<const BlockId> table = kv_.table(sequence, part.group);
    std::size_t at = part.offset;
    for (std::uint32_t p = position; p < page_end; p += part.block_tokens, at += part.block_bytes) {
      const std::size_t index = p / part.block_tokens;
      if (index >= table.size()) return Error::internal("A page reaches beyond its sequence's blocks.");
      if (Status copied = copy_block(part.group, table[index], at, part.block_bytes); !copied) return copied;
    }
  }
  return {};
}

Status SwapTraffic::fill_page(SequenceId sequence, PageId page, std::uint32_t position, std::uint32_t end) {
  const std::span<std::byte> buffer = store_->buffer_for(page);
  if (buffer.empty()) return Error::internal("A plan copies out more pages than there are buffers.");
  Status filled =
      for_each_block(sequence, position, end, [&](GroupId group, BlockId block, std::size_t at, std::size_t bytes) {
        return executor_.read_block(group, block, buffer.subspan(at, bytes));
      });
  store_->send(page);  // in any case: the buffer is given back when it is over
  ++under_way_;
  return filled;
}

bool SwapTraffic::copy_out(SequenceId sequence, std::uint32_t keep, std::uint32_t computed) {
  if (!store_) return false;
  const TimePoint start = clock_.now();
  const std::size_t before = ledger_->pages_of(sequence).size();
  const std::uint32_t count = kv_.geometry().pages_for(computed - keep);
  bool whole = count <= store_->room_out() && ledger_->take(sequence, count);
  if (whole) {
    // From the highest positions on, as the ledger has them.
    const auto taken = ledger_->pages_of(sequence).subspan(before);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t position = keep + (count - 1 - i) * page_tokens_;
      whole = fill_page(sequence, taken[i], position, computed).ok() && whole;
    }
  }
  if (!whole) release(sequence);
  copying_ += clock_.now() - start;
  return whole;
}

Status SwapTraffic::empty_page(SequenceId sequence, PageId page, std::uint32_t position, std::uint32_t end) {
  const std::span<const std::byte> buffer = store_->fetched(page);
  if (buffer.empty()) return Error::internal("A plan copies back a page that has not arrived.");
  return for_each_block(sequence, position, end, [&](GroupId group, BlockId block, std::size_t at, std::size_t bytes) {
    return executor_.write_block(group, block, buffer.subspan(at, bytes));
  });
}

std::uint32_t SwapTraffic::copy_back(SequenceId sequence, std::uint32_t computed, std::uint32_t until) {
  if (!store_) return computed;
  const TimePoint start = clock_.now();
  while (computed < until) {
    const auto pages = ledger_->pages_of(sequence);
    const bool copied = !pages.empty() && empty_page(sequence, pages.back(), computed, until).ok();
    if (!copied) {
      release(sequence);
      break;
    }
    store_->let_go(pages.back());
    ledger_->release_lowest(sequence);
    computed = std::min(until, computed + page_tokens_);
  }
  copying_ += clock_.now() - start;
  return computed;
}

bool SwapTraffic::has_buffers(SequenceId sequence) const {
  const auto pages = ledger_->pages_of(sequence);
  return std::any_of(pages.begin(), pages.end(), [&](PageId page) {
    return ledger_->state(page) == PageState::kReading || !store_->fetched(page).empty();
  });
}

// A buffer from who waits behind that place in the list.
bool SwapTraffic::make_room(std::size_t for_place) {
  for (std::size_t i = fetches_.size(); i > for_place + 1; --i) {
    for (const PageId page : ledger_->pages_of(fetches_[i - 1].sequence)) {
      if (store_->fetched(page).empty()) continue;
      store_->let_go(page);
      return true;
    }
  }
  return false;
}

void SwapTraffic::fetch(std::span<const SequenceId> sequences, TimePoint now) {
  if (!store_ || (sequences.empty() && fetches_.empty())) return;
  std::vector<Fetch> wanted;
  for (const SequenceId id : sequences) {
    const auto known = std::find_if(fetches_.begin(), fetches_.end(), [&](const Fetch& f) { return f.sequence == id; });
    wanted.push_back(known != fetches_.end() ? *known : Fetch{id, now});
  }
  // Those that are not named any more keep what they have for as long as nobody needs the room.
  for (const Fetch& fetch : fetches_) {
    const bool named = std::find(sequences.begin(), sequences.end(), fetch.sequence) != sequences.end();
    if (!named && has_buffers(fetch.sequence)) wanted.push_back(fetch);
  }
  fetches_ = std::move(wanted);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const auto pages = ledger_->pages_of(fetches_[i].sequence);
    for (auto page = pages.rbegin(); page != pages.rend(); ++page) {
      if (ledger_->state(*page) != PageState::kHeld || !store_->fetched(*page).empty()) continue;
      if (store_->room_in() == 0 && !make_room(i)) return;
      if (!store_->fetch(*page)) return;
      ledger_->begin_read(*page);
      ++under_way_;
    }
  }
}

void SwapTraffic::release(SequenceId sequence) noexcept {
  if (!store_) return;
  for (const PageId page : ledger_->pages_of(sequence)) {
    if (!store_->fetched(page).empty()) store_->let_go(page);
  }
  ledger_->release(sequence);
  std::erase_if(fetches_, [&](const Fetch& fetch) { return fetch.sequence == sequence; });
}

Duration SwapTraffic::take_copying_time() noexcept {
  return std::exchange(copying_, Duration::zero());
}

SwapStatus SwapTraffic::status() const {
  SwapStatus status = status_;
  if (store_) status.used_bytes = std::uint64_t{ledger_->size() - ledger_->free_count()} * store_->info().page_bytes;
  return status;
}

SwapSnapshot SwapTraffic::snapshot() const {
  if (!ledger_) return {};
  SwapSnapshot snapshot = ledger_->snapshot();
  snapshot.page_tokens = page_tokens_;
  return snapshot;
}

}  // namespace takt

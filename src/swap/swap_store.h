// The contract between the engine and the swap arena, the bounded place outside the KV pool to which blocks of waiting
// sequences are copied.
//
// The arena is cut into pages of one size. A page goes through a staging buffer: the engine copies into it and goes on,
// and the transfer happens elsewhere. No call waits for a transfer. One thread calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "core/ids.h"

namespace takt {

struct SwapStoreInfo {
  std::size_t page_bytes = 0;
  std::uint32_t pages = 0;
  // How long a page takes out of and into a staging buffer, measured at the start.
  Duration out_time{0};
  Duration in_time{0};
  std::string description;        // where the arena is, for people
  std::size_t staging_bytes = 0;  // of the buffers of both ways
};

// A page's transfer is over. A page that came back with an error, or not as it left, has an error here.
struct SwapTransfer {
  PageId page;
  bool out = false;  // false: it was read
  Status status;
  Duration took{0};  // of the transfer alone
};

class SwapStore {
 public:
  virtual ~SwapStore() = default;

  virtual const SwapStoreInfo& info() const = 0;
  // Pages that can be sent, or read, before a buffer comes free.
  virtual std::uint32_t room_out() const = 0;
  virtual std::uint32_t room_in() const = 0;

  // A buffer of page_bytes to fill for the page; empty when there is none. Then send(), which gives the buffer back
  // when the transfer is over.
  virtual std::span<std::byte> buffer_for(PageId page) = 0;
  virtual void send(PageId page) = 0;

  // Begins to read a page that was sent and has left. False: there is no buffer now.
  virtual bool fetch(PageId page) = 0;
  // The bytes of a page whose fetch is over without an error, until let_go(); empty otherwise.
  virtual std::span<const std::byte> fetched(PageId page) const = 0;
  // Gives its buffer back. Only for a page that is fetched().
  virtual void let_go(PageId page) noexcept = 0;

  // Transfers that are over since the last call, appended.
  virtual void collect(std::vector<SwapTransfer>& over) = 0;
};

}  // namespace takt

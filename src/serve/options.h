// How the way between HTTP and the engine is bounded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "api/options.h"
#include "base/clock.h"

namespace takt::serve {

struct ServeOptions {
  api::ApiOptions api;

  // Threads that parse, render templates and tokenize.
  int text_threads = 2;
  // Bodies that wait for them; over either limit: 503.
  std::size_t max_queued_bodies = 1024;
  std::size_t max_queued_body_bytes = std::size_t{256} * 1024 * 1024;

  // A stream that is silent so long gets a comment line. At most 10 s, or proxies give up.
  Duration keep_alive = std::chrono::seconds(5);

  // With more than this queued for its socket, a reader is behind: what is new waits and goes out in one piece.
  std::size_t reader_behind_bytes = std::size_t{64} * 1024;
  // Behind for so long without a pause: cut.
  Duration reader_patience = std::chrono::seconds(30);

  // Without any key configured, callers on this machine may use /admin/*: for a server that only they can reach.
  bool local_admin = false;

  // One line in the log for each request for an answer.
  bool access_log = true;

  // What clients are told while the server drains.
  std::uint32_t drain_retry_after_seconds = 5;
};

}  // namespace takt::serve

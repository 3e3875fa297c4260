#include "stop_signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

namespace takt::app {
namespace {

// What a signal handler may touch: lock-free atomics and a file descriptor.
std::atomic<int> received{0};
std::atomic<int> hangups{0};
std::atomic<bool> loading{true};
std::atomic<int> wake_up{-1};

void note_stop_signal(int signal) {
  const int saved = errno;
  if (signal == SIGHUP) {
    hangups.fetch_add(1, std::memory_order_relaxed);
  } else if (loading.load(std::memory_order_relaxed)) {
    ::_exit(0);
  } else {
    received.fetch_add(1, std::memory_order_relaxed);
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_up.load(std::memory_order_relaxed), &one, sizeof(one));
  errno = saved;
}

}  // namespace

void catch_stop_signals() {
  wake_up = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct sigaction action {};
  action.sa_handler = note_stop_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGHUP, &action, nullptr);
  std::signal(SIGUSR1, SIG_IGN);  // until there is a server whose waits can be told
}

void loading_is_done() {
  loading.store(false, std::memory_order_relaxed);
}

int stop_signals_received() {
  return received.load(std::memory_order_relaxed);
}

bool take_hangup() {
  return hangups.exchange(0, std::memory_order_relaxed) > 0;
}

bool wait_for_signal(int seen, Duration wait) {
  const auto deadline = std::chrono::steady_clock::now() + wait;
  while (stop_signals_received() <= seen) {
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left <= Duration(0) || hangups.load(std::memory_order_relaxed) > 0) return false;
    pollfd readable{wake_up.load(), POLLIN, 0};
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    ::poll(&readable, 1, static_cast<int>(std::min<std::int64_t>(milliseconds, 1'000'000)));
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(wake_up.load(), &count, sizeof(count));
  }
  return true;
}

}  // namespace takt::app

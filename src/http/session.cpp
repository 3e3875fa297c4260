#include "http/session.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/socket_base.hpp>
#include <exception>
#include <utility>

#include "base/log.h"

namespace takt::http {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

constexpr std::size_t kSmallRead = std::size_t{4} * 1024;
constexpr std::size_t kBodyRead = std::size_t{64} * 1024;
constexpr std::size_t kKeptCapacity = std::size_t{16} * 1024;  // of buffers, between two requests
constexpr std::size_t kLingerBytes = std::size_t{64} * 1024 * 1024;
constexpr std::chrono::milliseconds kWatchPeriod{20};
constexpr const char* kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// A host that vanished without a word is found within about two minutes even when nothing is sent to it.
void set_keep_alive_probes(int fd) {
  const int idle_seconds = 60, interval_seconds = 15, probes = 4, on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_seconds, sizeof interval_seconds);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

short poll_now(int fd) {
  pollfd entry{fd, POLLRDHUP, 0};
  return ::poll(&entry, 1, 0) > 0 ? entry.revents : short{0};
}

}  // namespace

Session::Session(std::shared_ptr<Network> network, asio::ip::tcp::socket socket, std::string peer)
    : network_(std::move(network)),
      socket_(std::move(socket)),
      executor_(socket_.get_executor()),
      deadline_(executor_),
      write_deadline_(executor_),
      watch_timer_(executor_),
      peer_(std::move(peer)),
      reader_(network_->options.request, peer_) {}

Session::~Session() {
  if (phase_ == Phase::kClosed) return;
  if (outbox_ != nullptr) outbox_->close(Responder::Closed::kClientGone);
  enter(Phase::kClosed);
  network_->connections.leave(this);
}

void Session::prepare_socket() {
  ErrorCode ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  set_keep_alive_probes(socket_.native_handle());
  const std::size_t buffer = network_->options.socket_send_buffer_bytes;
  if (buffer > 0) socket_.set_option(asio::socket_base::send_buffer_size(static_cast<int>(buffer)), ignored);
  socket_.non_blocking(true, ignored);
}

void Session::start() {
  prepare_socket();
  arm_deadline(network_->options.timeouts.idle);
  read();
}

void Session::refuse(int status, std::string_view reason) {
  prepare_socket();
  request_began_ = steady_clock::now();
  reject(status, reason);
}

void Session::outbox_changed() {
  asio::post(executor_, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->flush();
  });
}

void Session::drain() {
  asio::post(executor_, [weak = weak_from_this()] {
    if (auto self = weak.lock(); self && self->phase_ == Phase::kIdle) self->close_gone();
  });
}

void Session::stop() {
  asio::post(executor_, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    // A whole answer that is on its way stays on it: only what is unfinished has to look so.
    const bool unfinished = self->phase_ != Phase::kLingering && self->phase_ != Phase::kIdle;
    self->close(Responder::Closed::kClientGone, AccessRecord::Outcome::kAborted, unfinished);
  });
}

void Session::enter(Phase phase) {
  const auto is_work = [](Phase p) { return p == Phase::kBody || p == Phase::kAnswering; };
  const bool was_work = is_work(phase_);
  phase_ = phase;
  if (is_work(phase) && !was_work) network_->connections.work_began();
  if (!is_work(phase) && was_work) network_->connections.work_ended();
}

void Session::arm_deadline(Milliseconds wait) {
  deadline_.expires_after(wait);
  deadline_.async_wait([self = shared_from_this()](const ErrorCode& ec) {
    if (!ec && self->deadline_.expiry() <= steady_clock::now()) self->on_deadline();
  });
}

void Session::on_deadline() {
  switch (phase_) {
    case Phase::kHead:
      return reject(408, "The request's head took too long to come.");
    case Phase::kBody:
      return check_body_progress();
    case Phase::kIdle:
    case Phase::kLingering:
      return close_gone();
    case Phase::kAnswering:
    case Phase::kClosed:
      return;
  }
}

void Session::check_body_progress() {
  const Timeouts& timeouts = network_->options.timeouts;
  if (window_bytes_ < timeouts.body_progress_bytes) return reject(408, "The request's body took too long to come.");
  window_bytes_ = 0;
  arm_deadline(timeouts.body_progress);
}

void Session::read() {
  if (reading_ || end_of_input_ || phase_ == Phase::kClosed) return;
  std::size_t room = phase_ == Phase::kBody || phase_ == Phase::kLingering ? kBodyRead : kSmallRead;
  if (phase_ == Phase::kAnswering) {
    const std::size_t limit = network_->options.read_ahead_bytes;
    room = std::min(room, limit - std::min(limit, in_.size()));
    if (room == 0) return watch();
  }
  reading_ = true;
  if (arriving_.size() < room || (room <= kSmallRead && arriving_.size() > kSmallRead))
    arriving_ = std::vector<char>(room);
  socket_.async_read_some(
      asio::buffer(arriving_.data(), room),
      [self = shared_from_this()](const ErrorCode& ec, std::size_t bytes) { self->on_read(ec, bytes); });
}

void Session::on_read(const ErrorCode& ec, std::size_t bytes) {
  reading_ = false;
  if (phase_ == Phase::kClosed) return;
  if (ec == asio::error::eof) return on_end_of_input();
  if (ec) return close_gone();
  in_.append(arriving_.data(), bytes);
  window_bytes_ += bytes;
  switch (phase_) {
    case Phase::kLingering:
      in_.clear();
      return window_bytes_ > kLingerBytes ? close_gone() : read();
    case Phase::kAnswering:
      return read();
    default:
      return advance();
  }
}

void Session::on_end_of_input() {
  end_of_input_ = true;
  switch (phase_) {
    case Phase::kHead:
    case Phase::kBody:
      return out_of_input();
    case Phase::kAnswering:
      return probe();
    default:
      return close_gone();
  }
}

// Reads requests from what has come, up to the first complete one.
void Session::advance() {
  while (true) {
    if (phase_ == Phase::kIdle && !in_.empty()) {
      enter(Phase::kHead);
      request_began_ = steady_clock::now();
      arm_deadline(network_->options.timeouts.header);
    }
    std::size_t used = 0;
    const auto progress = reader_.feed(in_, used);
    in_.erase(0, used);
    switch (progress) {
      case RequestReader::Progress::kNeedMore:
        return end_of_input_ ? out_of_input() : read();
      case RequestReader::Progress::kHeadDone:
        if (!begin_body()) return;
        break;
      case RequestReader::Progress::kComplete:
        return dispatch();
      case RequestReader::Progress::kRejected: {
        const Rejection rejection = reader_.rejection();
        return reject(rejection.status, rejection.reason);
      }
    }
  }
}

void Session::out_of_input() {
  if (phase_ == Phase::kIdle || (phase_ == Phase::kHead && in_.empty())) return close_gone();
  reject(400, "The request ended before it was complete.");
}

// False when the request was answered already.
bool Session::begin_body() {
  if (reader_.facts().has_body) {
    if (auto refusal = refuse_origin(reader_.request())) {
      answer_last(*refusal, AccessRecord::Outcome::kRejected);
      return false;
    }
    if (auto refusal = refuse_by_head(reader_.request())) {
      answer_last(*refusal, AccessRecord::Outcome::kCompleted);
      return false;
    }
  }
  enter(Phase::kBody);
  window_bytes_ = in_.size();
  arm_deadline(network_->options.timeouts.body_progress);
  if (reader_.facts().expects_continue && in_.empty() && !writing_) {
    out_ = kContinue;
    write();
  }
  return true;
}

std::optional<Response> Session::refuse_origin(const Request& head) const {
  const std::string_view origin = head.header("origin");
  if (origin.empty() || network_->origins.allows(origin, head.header("host"))) return std::nullopt;
  return network_->render_error(403,
                                "Web pages of this origin may not call this server (option cors_allowed_origins).");
}

std::optional<Response> Session::refuse_by_head(Request& head) {
  if (is_preflight(head)) return std::nullopt;
  try {
    return network_->handler.refuse_by_head(head);
  } catch (const std::exception& error) {
    spdlog::error("http: a handler threw: {}", error.what());
    return network_->render_error(500, "The request failed inside the server.");
  }
}

// Of an answer after which the connection closes.
Framing Session::framing_for(const Request& head) const {
  Framing framing;
  framing.head_only = head.method == "HEAD";
  const std::string_view origin = head.header("origin");
  if (!origin.empty() && network_->origins.allows(origin, head.header("host"))) {
    framing.extra = network_->origins.answer_headers(origin);
  }
  return framing;
}

void Session::dispatch() {
  enter(Phase::kAnswering);
  deadline_.cancel();
  probed_ = {};
  probe_wait_ = network_->options.timeouts.half_close_probe / 2;
  const RequestFacts facts = reader_.facts();
  Request request = reader_.take();
  record_ = {};
  record_.method = request.method;
  record_.path = request.path;
  record_.peer = peer_;

  Framing framing = framing_for(request);
  framing.http11 = facts.http11;
  framing.keep_alive = facts.keep_alive && !(end_of_input_ && in_.empty());
  if (auto refusal = refuse_origin(request)) {
    answer_here(framing, *refusal, AccessRecord::Outcome::kRejected);
    return read();
  }
  if (is_preflight(request)) {
    answer_here(framing, answer_preflight(request), AccessRecord::Outcome::kCompleted);
    return read();
  }
  outbox_ = std::make_shared<Outbox>(std::move(framing), network_->options.stream_queue_bytes, weak_from_this(),
                                     network_->draining);
  hand_over(std::move(request));
  read();
  if (end_of_input_) probe();
}

void Session::hand_over(Request request) {
  auto fallback = [network = std::weak_ptr<Network>(network_)] {
    const auto alive = network.lock();
    return alive ? alive->render_error(500, "The request was dropped inside the server.") : Response{};
  };
  auto answer = std::make_shared<Answer>(outbox_, std::move(fallback));
  try {
    network_->handler.handle(std::move(request), std::move(answer));
  } catch (const std::exception& error) {
    spdlog::error("http: a handler threw: {}", error.what());
    outbox_->send(network_->render_error(500, "The request failed inside the server."));
  }
}

void Session::answer_here(const Framing& framing, const Response& response, AccessRecord::Outcome outcome) {
  record_.outcome = outcome;
  outbox_ =
      std::make_shared<Outbox>(framing, network_->options.stream_queue_bytes, weak_from_this(), network_->draining);
  outbox_->send(response);
  // Nothing else may be under way that keeps this session alive until the answer is written.
  asio::post(executor_, [self = shared_from_this()] { self->flush(); });
}

void Session::reject(int status, std::string_view reason) {
  answer_last(network_->render_error(status, reason), AccessRecord::Outcome::kRejected);
}

// Answers what was read of a request, and no other after it.
void Session::answer_last(const Response& response, AccessRecord::Outcome outcome) {
  enter(Phase::kAnswering);
  deadline_.cancel();
  record_ = {};
  record_.method = reader_.request().method;
  record_.path = reader_.request().path;
  record_.peer = peer_;
  Framing framing = framing_for(reader_.request());
  framing.http11 = reader_.facts().http11;
  answer_here(framing, response, outcome);
}

void Session::flush() {
  if (phase_ != Phase::kAnswering || outbox_ == nullptr) return;
  if (writing_) {
    // A cut must not wait for a write that may never end; all else goes on when it ends.
    if (outbox_->overflowed()) close(Responder::Closed::kSlowReader, AccessRecord::Outcome::kSlowReader, true);
    return;
  }
  switch (outbox_->take(out_)) {
    case Outbox::Next::kWait:
      return;
    case Outbox::Next::kBytes:
      return write();
    case Outbox::Next::kEnded:
      return finish_answer();
    case Outbox::Next::kAborted:
      return finish_aborted();
    case Outbox::Next::kOverflowed:
      return close(Responder::Closed::kSlowReader, AccessRecord::Outcome::kSlowReader, true);
  }
}

void Session::write() {
  writing_ = true;
  write_deadline_.expires_after(network_->options.timeouts.write_progress);
  write_deadline_.async_wait([self = shared_from_this()](const ErrorCode& ec) {
    if (!ec && self->write_deadline_.expiry() <= steady_clock::now()) self->on_write_timeout();
  });
  socket_.async_write_some(
      asio::buffer(out_.data() + written_, out_.size() - written_),
      [self = shared_from_this()](const ErrorCode& ec, std::size_t bytes) { self->on_write(ec, bytes); });
}

void Session::on_write(const ErrorCode& ec, std::size_t bytes) {
  if (phase_ == Phase::kClosed) return;
  if (ec) return close_gone();
  written_ += bytes;
  record_.bytes_sent += bytes;
  if (outbox_ != nullptr) outbox_->set_in_flight(out_.size() - written_);
  if (written_ < out_.size()) return write();
  writing_ = false;
  written_ = 0;
  out_.clear();
  write_deadline_.cancel();
  flush();
}

void Session::on_write_timeout() {
  if (writing_ && phase_ != Phase::kClosed)
    close(Responder::Closed::kSlowReader, AccessRecord::Outcome::kSlowReader, true);
}

void Session::finish_answer() {
  const bool goes_on = outbox_->keep_alive() && !network_->draining->load(std::memory_order_relaxed);
  report(record_.outcome);
  if (!goes_on) return begin_linger();
  if (out_.capacity() > kKeptCapacity) out_ = {};
  if (in_.capacity() > kKeptCapacity) in_.shrink_to_fit();
  enter(Phase::kIdle);
  if (!in_.empty()) return advance();
  if (end_of_input_) return close_gone();
  arm_deadline(network_->options.timeouts.idle);
  read();
}

void Session::finish_aborted() {
  // A stream that ends with its connection has no other way to look unfinished than a reset.
  if (outbox_->ends_by_close()) return close(Responder::Closed::kClientGone, AccessRecord::Outcome::kAborted, true);
  report(AccessRecord::Outcome::kAborted);
  begin_linger();
}

void Session::report(AccessRecord::Outcome outcome) {
  if (outbox_ == nullptr) return;
  record_.outcome = outcome;
  record_.status = outbox_->status();
  record_.duration = steady_clock::now() - request_began_;
  outbox_.reset();
  if (network_->hooks.on_access) network_->hooks.on_access(record_);
}

void Session::probe() {
  probed_ = steady_clock::now();
  if (outbox_->probe()) {
    probe_wait_ *= 2;  // before the head there are few such bytes
    flush();
  }
  watch();
}

void Session::watch() {
  if (watching_ || phase_ == Phase::kClosed) return;
  watching_ = true;
  watch_timer_.expires_after(kWatchPeriod);
  watch_timer_.async_wait([self = shared_from_this()](const ErrorCode&) {
    self->watching_ = false;
    self->on_watch();
  });
}

void Session::on_watch() {
  if (phase_ != Phase::kAnswering || reading_) return;
  const short events = poll_now(socket_.native_handle());
  if ((events & (POLLERR | POLLHUP | POLLNVAL)) != 0) return close_gone();
  const bool sends_no_more = (events & POLLRDHUP) != 0;
  if (sends_no_more && steady_clock::now() - probed_ >= probe_wait_) return probe();
  watch();
}

// Waits for the client to close, so that bytes it still sends cannot destroy the answer with a reset.
void Session::begin_linger() {
  ErrorCode ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  if (end_of_input_) return close_gone();
  enter(Phase::kLingering);
  in_.clear();
  window_bytes_ = 0;
  arm_deadline(network_->options.timeouts.linger);
  read();
}

void Session::close(Responder::Closed reason, AccessRecord::Outcome outcome, bool reset) {
  if (phase_ == Phase::kClosed) return;
  const auto outbox = outbox_;
  ErrorCode ignored;
  if (reset) socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  socket_.close(ignored);
  deadline_.cancel();
  write_deadline_.cancel();
  watch_timer_.cancel();
  report(outcome);
  if (outbox != nullptr) outbox->close(reason);
  enter(Phase::kClosed);
  network_->connections.leave(this);
}

}  // namespace takt::http

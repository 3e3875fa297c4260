// One connection: reads requests, hands them over one at a time, sends their answers.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/network.h"
#include "http/outbox.h"
#include "http/request_reader.h"

namespace takt::http {

// Everything runs on the socket's strand but the methods that say otherwise. The socket is read all the time, so that a
// client that goes away is seen in every phase. A client that closes only its sending side looks the same as one that
// has gone, until something is sent to it: it is probed (Outbox::probe) and served as long as its system does not
// answer with a reset.
class Session final : public OutboxListener, public std::enable_shared_from_this<Session> {
 public:
  Session(std::shared_ptr<Network> network, boost::asio::ip::tcp::socket socket, std::string peer);

  // Gives its place back when it ends without close(): an exception on the way.
  ~Session() override;

  void start();
  // Instead of start: tells the client why and closes.
  void refuse(int status, std::string_view reason);

  // From any thread.
  const boost::asio::ip::tcp::socket::executor_type& executor() const { return executor_; }
  void outbox_changed() override;
  void drain();  // closes it when no request is under way
  void stop();   // closes it now

 private:
  enum class Phase { kIdle, kHead, kBody, kAnswering, kLingering, kClosed };
  using ErrorCode = boost::system::error_code;
  using Milliseconds = std::chrono::milliseconds;

  void prepare_socket();
  void enter(Phase phase);

  // Reading.
  void read();
  void on_read(const ErrorCode& ec, std::size_t bytes);
  void on_end_of_input();
  void advance();
  void out_of_input();
  bool begin_body();
  void arm_deadline(Milliseconds wait);
  void on_deadline();
  void check_body_progress();

  // Answering.
  std::optional<Response> refuse_origin(const Request& head) const;
  std::optional<Response> refuse_by_head(Request& head);
  Framing framing_for(const Request& head) const;
  void dispatch();
  void hand_over(Request request);
  void answer_here(const Framing& framing, const Response& response, AccessRecord::Outcome outcome);
  void answer_last(const Response& response, AccessRecord::Outcome outcome);
  void reject(int status, std::string_view reason);
  void flush();
  void write();
  void on_write(const ErrorCode& ec, std::size_t bytes);
  void on_write_timeout();
  void finish_answer();
  void finish_aborted();
  void report(AccessRecord::Outcome outcome);

  // Watching a client that sends no more, or whose bytes are not read for now.
  void probe();
  void watch();
  void on_watch();

  void begin_linger();
  void close(Responder::Closed reason, AccessRecord::Outcome outcome, bool reset = false);
  void close_gone() { close(Responder::Closed::kClientGone, AccessRecord::Outcome::kClientGone); }

  const std::shared_ptr<Network> network_;
  boost::asio::ip::tcp::socket socket_;
  const boost::asio::ip::tcp::socket::executor_type executor_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer write_deadline_;
  boost::asio::steady_timer watch_timer_;
  const std::string peer_;

  Phase phase_ = Phase::kIdle;
  RequestReader reader_;
  std::vector<char> arriving_;  // what the read under way writes to; nothing else touches it
  std::string in_;              // bytes that no request has used yet
  bool reading_ = false;
  bool end_of_input_ = false;  // the client's sending side is closed
  bool watching_ = false;
  std::size_t window_bytes_ = 0;  // of a body, in this progress window; lingering: bytes dropped

  std::shared_ptr<Outbox> outbox_;  // of the request that is being answered
  AccessRecord record_;
  std::chrono::steady_clock::time_point request_began_;
  std::chrono::steady_clock::time_point probed_;
  Milliseconds probe_wait_{0};  // from one probe to the next
  std::string out_;
  std::size_t written_ = 0;
  bool writing_ = false;
};

}  // namespace takt::http

// One connection of the load generator, used for one exchange after the other.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "load/answer_intake.h"
#include "load/transport.h"

namespace takt::load {

class ClientConnection : public std::enable_shared_from_this<ClientConnection> {
 public:
  using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;
  // The exchange is over, and whether the connection can have another one.
  using OnOver = std::function<void(bool usable)>;

  // `tls` null: plain TCP. `host` is what certificates are checked against.
  ClientConnection(boost::asio::io_context& context, boost::asio::ssl::context* tls, std::string host);

  // Sends `bytes` and reads one answer; connects first where it has to.
  void exchange(std::string bytes, const Endpoints& endpoints, ExchangeObserver& observer, OnOver on_over);
  // Waits for its server to close it; `on_closed` then. Ended by exchange() and close().
  void idle(std::function<void()> on_closed);
  // Nothing is called any more.
  void close();

 private:
  void connect(const Endpoints& endpoints);
  void shake_hands();
  void write();
  void read();
  void take(AnswerIntake::State state);
  void end(measure::Failure failure, const std::string& detail, bool usable);
  // Ends with the kind of failure that an error of the socket is.
  void break_off(const boost::system::error_code& error);

  boost::asio::ip::tcp::socket socket_;
  std::optional<boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>> tls_;
  std::string host_;
  bool connected_ = false;
  bool closed_ = false;
  ExchangeObserver* observer_ = nullptr;
  OnOver on_over_;
  std::string outgoing_;
  AnswerIntake intake_;
  TimePoint read_at_;  // of the last event of the socket
  bool writing_ = false;
  std::uint64_t use_ = 0;  // of idle waits: one that was ended by an exchange is not told
};

}  // namespace takt::load

// The listening socket: makes a session of every connection.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <memory>

#include "base/result.h"
#include "http/network.h"

namespace takt::http {

class Listener : public std::enable_shared_from_this<Listener> {
 public:
  explicit Listener(std::shared_ptr<Network> network);

  // Binds; before the network threads run.
  Status open();
  std::uint16_t port() const { return port_; }
  void start();
  // From any thread but a network thread; the socket is closed when it returns. Needs running network threads.
  void close();

 private:
  using Tcp = boost::asio::ip::tcp;

  Status listen_on(const Tcp::endpoint& endpoint);
  void accept();
  void on_accept(const boost::system::error_code& ec, Tcp::socket socket);
  void welcome(Tcp::socket socket);

  const std::shared_ptr<Network> network_;
  const boost::asio::strand<boost::asio::io_context::executor_type> strand_;
  Tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  std::uint16_t port_ = 0;
};

}  // namespace takt::http

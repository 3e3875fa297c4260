#include "http/listener.h"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <string>
#include <utility>

#include "base/log.h"
#include "http/session.h"

namespace takt::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// After an accept that failed for want of descriptors or memory.
constexpr std::chrono::milliseconds kPause{50};

}  // namespace

Listener::Listener(std::shared_ptr<Network> network)
    : network_(std::move(network)), strand_(asio::make_strand(network_->io)), acceptor_(strand_), pause_(strand_) {}

Status Listener::open() {
  const ServerOptions& options = network_->options;
  error_code ec;
  Tcp::resolver resolver(network_->io);
  const auto endpoints = resolver.resolve(options.host, std::to_string(options.port), Tcp::resolver::passive, ec);
  if (ec || endpoints.empty()) {
    return Error{ErrorCode::kIo, "Cannot listen on host '" + options.host + "': " + ec.message() + ".", "host"};
  }
  Status status;
  for (const auto& entry : endpoints) {
    status = listen_on(entry.endpoint());
    if (status) return status;
  }
  return status;
}

Status Listener::listen_on(const Tcp::endpoint& endpoint) {
  const std::string where = network_->options.host + ", port " + std::to_string(endpoint.port());
  error_code ec;
  acceptor_.open(endpoint.protocol(), ec);
  if (!ec) acceptor_.set_option(asio::socket_base::reuse_address(true), ec);
  if (!ec) acceptor_.bind(endpoint, ec);
  if (!ec) acceptor_.listen(network_->options.backlog, ec);
  if (!ec) {
    port_ = acceptor_.local_endpoint(ec).port();
    return {};
  }
  error_code ignored;
  acceptor_.close(ignored);
  if (ec == asio::error::address_in_use) {
    return Error{ErrorCode::kIo, "Cannot listen on " + where + ": another program uses this port.", "port"};
  }
  const char* field = ec == asio::error::access_denied ? "port" : "host";
  return Error{ErrorCode::kIo, "Cannot listen on " + where + ": " + ec.message() + ".", field};
}

void Listener::start() {
  asio::dispatch(strand_, [self = shared_from_this()] { self->accept(); });
}

void Listener::close() {
  std::promise<void> closed;
  asio::post(strand_, [&] {
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    closed.set_value();
  });
  closed.get_future().wait();
}

void Listener::accept() {
  if (!acceptor_.is_open()) return;
  acceptor_.async_accept(
      asio::make_strand(network_->io),
      [self = shared_from_this()](const error_code& ec, auto socket) { self->on_accept(ec, std::move(socket)); });
}

void Listener::on_accept(const error_code& ec, Tcp::socket socket) {
  if (!acceptor_.is_open()) return;
  if (!ec) {
    welcome(std::move(socket));
    return accept();
  }
  if (ec == asio::error::connection_aborted) return accept();
  spdlog::warn("http: cannot accept connections now: {}", ec.message());
  pause_.expires_after(kPause);
  pause_.async_wait([self = shared_from_this()](const error_code&) { self->accept(); });
}

void Listener::welcome(Tcp::socket socket) {
  error_code ec;
  const auto remote = socket.remote_endpoint(ec);
  if (ec) return;  // already gone
  std::string peer = remote.address().to_string();
  auto session = std::make_shared<Session>(network_, std::move(socket), peer);
  const auto verdict = network_->connections.enter(session, peer);
  if (verdict == ConnectionTable::Verdict::kTurnedAway) return;
  asio::dispatch(session->executor(), [session, verdict, network = network_] {
    const ServerOptions& options = network->options;
    switch (verdict) {
      case ConnectionTable::Verdict::kFull:
        return session->refuse(
            503, "The server has reached its limit of " + std::to_string(options.connections) + " connections.");
      case ConnectionTable::Verdict::kPeerFull:
        return session->refuse(429, "This address has reached its limit of " +
                                        std::to_string(options.connections_per_peer) + " connections.");
      default:
        return session->start();
    }
  });
}

}  // namespace takt::http

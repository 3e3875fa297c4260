#include "load/client_connection.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace takt::load {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using measure::Failure;

}  // namespace

ClientConnection::ClientConnection(asio::io_context& context, asio::ssl::context* tls, std::string host)
    : socket_(context), host_(std::move(host)) {
  if (tls != nullptr) tls_.emplace(socket_, *tls);
}

void ClientConnection::exchange(std::string bytes, const Endpoints& endpoints, ExchangeObserver& observer,
                                OnOver on_over) {
  ++use_;
  observer_ = &observer;
  on_over_ = std::move(on_over);
  outgoing_ = std::move(bytes);
  // An observer may abandon the exchange in any call, which closes the connection: then it hears nothing more.
  intake_.begin([this](const ResponseHead& head) { observer_->on_head(read_at_, head); },
                [this](std::string_view body) { observer_->on_body(read_at_, body); });
  if (!connected_) return connect(endpoints);
  error_code ignored;
  socket_.cancel(ignored);  // the wait of idle()
  write();
}

void ClientConnection::connect(const Endpoints& endpoints) {
  asio::async_connect(socket_, endpoints, [self = shared_from_this()](const error_code& error, const auto&) {
    if (self->closed_) return;
    if (error) {
      self->read_at_ = std::chrono::steady_clock::now();
      return self->end(Failure::kNoConnection, error.message(), false);
    }
    error_code ignored;
    self->socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    self->connected_ = true;
    if (self->tls_) return self->shake_hands();
    self->write();
  });
}

void ClientConnection::shake_hands() {
  // Many hosts share an address: the name says which certificate is wanted. An address is no name there (RFC 6066).
  error_code is_name;
  asio::ip::make_address(host_, is_name);
  if (is_name) ::SSL_set_tlsext_host_name(tls_->native_handle(), host_.c_str());
  tls_->set_verify_callback(asio::ssl::host_name_verification(host_));
  tls_->async_handshake(asio::ssl::stream_base::client, [self = shared_from_this()](const error_code& error) {
    if (self->closed_) return;
    if (error) {
      self->read_at_ = std::chrono::steady_clock::now();
      return self->end(Failure::kTls, error.message(), false);
    }
    self->write();
  });
}

void ClientConnection::write() {
  writing_ = true;
  // A server that refuses may answer before it has read everything, so reading begins at once.
  auto written = [self = shared_from_this(), use = use_](const error_code& error, std::size_t) {
    if (use == self->use_) self->writing_ = false;
    if (self->closed_ || use != self->use_ || !error) return;
    if (error == asio::error::broken_pipe || error == asio::error::connection_reset) return;  // reading tells why
    self->break_off(error);
  };
  if (tls_) {
    asio::async_write(*tls_, asio::buffer(outgoing_), std::move(written));
  } else {
    asio::async_write(socket_, asio::buffer(outgoing_), std::move(written));
  }
  read();
}

void ClientConnection::read() {
  auto done = [self = shared_from_this()](const error_code& error, std::size_t bytes) {
    if (self->closed_ || self->observer_ == nullptr) return;
    self->read_at_ = std::chrono::steady_clock::now();
    if (error) return self->break_off(error);
    self->take(self->intake_.take(bytes));
  };
  const auto free = intake_.room();
  const auto room = asio::buffer(free.data(), free.size());
  if (tls_) {
    tls_->async_read_some(room, std::move(done));
  } else {
    socket_.async_read_some(room, std::move(done));
  }
}

void ClientConnection::take(AnswerIntake::State state) {
  if (closed_) return;  // an observer abandoned the exchange
  switch (state) {
    case AnswerIntake::State::kMore:
      return read();
    case AnswerIntake::State::kDone:
      return end(Failure::kNone, {}, intake_.can_have_another() && !writing_);
    case AnswerIntake::State::kNotHttp:
      return end(Failure::kNotHttp, intake_.why_not().message(), false);
    case AnswerIntake::State::kTooLarge:
      return end(Failure::kTooLarge, "a header of the answer", false);
  }
}

void ClientConnection::break_off(const error_code& error) {
  read_at_ = std::chrono::steady_clock::now();
  const bool closed_by_peer = error == asio::error::eof || error == asio::ssl::error::stream_truncated;
  // A body may end with its connection.
  if (closed_by_peer && intake_.end_of_stream() == AnswerIntake::State::kDone) return end(Failure::kNone, {}, false);
  if (intake_.got_some()) return end(Failure::kHalfAnswer, "the connection ended inside the answer", false);
  end(Failure::kReset, closed_by_peer ? "the server closed the connection" : error.message(), false);
}

void ClientConnection::end(Failure failure, const std::string& detail, bool usable) {
  const auto over = std::exchange(on_over_, nullptr);
  auto* observer = std::exchange(observer_, nullptr);
  const auto keep = shared_from_this();
  if (!usable) close();
  const TimePoint at = read_at_;
  if (over) over(usable);  // first, so that the next exchange finds the connection
  observer->on_end(at, failure, detail);
}

void ClientConnection::idle(std::function<void()> on_closed) {
  const auto use = ++use_;
  auto closed = [self = shared_from_this(), use, told = std::move(on_closed)](const error_code&, std::size_t = 0) {
    if (self->closed_ || use != self->use_) return;
    self->close();
    told();
  };
  // Bytes that nobody asked for end a connection as well as its end.
  socket_.async_wait(asio::ip::tcp::socket::wait_read, [closed](const error_code& error) mutable { closed(error); });
}

void ClientConnection::close() {
  closed_ = true;
  intake_.stop();
  error_code ignored;
  socket_.close(ignored);
}

}  // namespace takt::load

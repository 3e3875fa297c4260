#include "pacing_server.h"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace takt::bench {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Instants = std::unordered_map<std::uint32_t, std::vector<TimePoint>>;

const std::string kHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string chunk_of(const std::string& data) {
  std::array<char, 16> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", data.size());
  return size.data() + data + "\r\n";
}

const std::string& token_chunk() {
  static const std::string kChunk = chunk_of(
      "data: "
      "{\"id\":\"chatcmpl-0000000000000000\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"pace\","
      "\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n");
  return kChunk;
}

const std::string& last_chunk() {
  static const std::string kChunk =
      chunk_of("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n") +
      "0\r\n\r\n";
  return kChunk;
}

// One client, one request after the other.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(asio::ip::tcp::socket socket, const Pace& pace, Instants& left)
      : socket_(std::move(socket)), timer_(socket_.get_executor()), pace_(pace), left_(left) {
    error_code ignored;
    socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  }

  void read() {
    asio::async_read_until(socket_, input_, "\"stream_options\"",
                           [self = shared_from_this()](const error_code& error, std::size_t) {
                             if (!error) self->begin();
                           });
  }

 private:
  void begin() {
    const std::string text{asio::buffers_begin(input_.data()), asio::buffers_end(input_.data())};
    input_.consume(input_.size());
    const auto at = text.find("\"max_tokens\":");
    const auto key = at == std::string::npos ? 0 : static_cast<std::uint32_t>(std::atoi(text.c_str() + at + 13));
    instants_ = &left_[key];
    instants_->reserve(pace_.tokens);
    next_ = std::chrono::steady_clock::now();
    asio::write(socket_, asio::buffer(kHead), error_);
    send_next();
  }

  void send_next() {
    next_ += pace_.gap;
    timer_.expires_at(next_);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      if (error || self->error_) return;
      self->instants_->push_back(std::chrono::steady_clock::now());
      asio::write(self->socket_, asio::buffer(token_chunk()), self->error_);
      if (self->instants_->size() < self->pace_.tokens) return self->send_next();
      asio::write(self->socket_, asio::buffer(last_chunk()), self->error_);
      if (!self->error_) self->read();
    });
  }

  asio::ip::tcp::socket socket_;
  asio::steady_timer timer_;
  asio::streambuf input_;
  const Pace& pace_;
  Instants& left_;
  std::vector<TimePoint>* instants_ = nullptr;
  TimePoint next_;
  error_code error_;
};

}  // namespace

class PacingServer::Work {
 public:
  explicit Work(Pace pace) : pace_(pace), acceptor_(context_, {asio::ip::address_v4::loopback(), 0}) {
    acceptor_.listen(asio::socket_base::max_listen_connections);
    accept();
    thread_ = std::thread([this] { context_.run(); });
  }
  ~Work() { end(); }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  Instants end() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
    return std::move(left_);
  }

 private:
  void accept() {
    acceptor_.async_accept([this](const error_code& error, asio::ip::tcp::socket socket) {
      if (error) return;
      std::make_shared<Stream>(std::move(socket), pace_, left_)->read();
      accept();
    });
  }

  Pace pace_;
  Instants left_;
  asio::io_context context_{1};
  asio::ip::tcp::acceptor acceptor_;
  std::thread thread_;
};

PacingServer::PacingServer(Pace pace) : work_(std::make_unique<Work>(pace)) {}
PacingServer::~PacingServer() = default;
std::uint16_t PacingServer::port() const {
  return work_->port();
}
Instants PacingServer::stop() {
  return work_->end();
}

}  // namespace takt::bench

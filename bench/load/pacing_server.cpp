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
#include <deque>
#include <string>
#include <thread>
#include <utility>

#include "thread_cpu.h"

namespace takt::bench {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Instants = std::vector<TimePoint>;
using Steady = std::chrono::steady_clock;

constexpr int kTokensAtATime = 256;  // between two looks at who connects and asks

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

struct Stream {
  explicit Stream(asio::ip::tcp::socket from) : socket(std::move(from)) {
    error_code ignored;
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  }

  void write(const std::string& bytes) { asio::write(socket, asio::buffer(bytes), error); }

  asio::ip::tcp::socket socket;
  asio::streambuf input;
  Instants* left = nullptr;
  error_code error;
};

}  // namespace

class PacingServer::Work {
 public:
  explicit Work(Pace pace) : pace_(pace), acceptor_(context_, {asio::ip::address_v4::loopback(), 0}), timer_(context_) {
    acceptor_.listen(asio::socket_base::max_listen_connections);
    accept();
    thread_ = std::thread([this] {
      context_.run();
      log_.cpu_seconds = thread_cpu_seconds();
    });
  }
  ~Work() { end(); }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  Log end() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
    return std::move(log_);
  }

 private:
  using SharedStream = std::shared_ptr<Stream>;

  void accept() {
    acceptor_.async_accept([this](const error_code& error, asio::ip::tcp::socket socket) {
      if (error) return;
      read(std::make_shared<Stream>(std::move(socket)));
      accept();
    });
  }

  void read(const SharedStream& stream) {
    asio::async_read_until(stream->socket, stream->input, "\"stream_options\"",
                           [this, stream](const error_code& error, std::size_t) {
                             if (!error) begin(stream);
                           });
  }

  void begin(const SharedStream& stream) {
    const auto data = stream->input.data();
    const std::string text{asio::buffers_begin(data), asio::buffers_end(data)};
    stream->input.consume(stream->input.size());
    const auto at = text.find("\"max_tokens\":");
    const auto key = at == std::string::npos ? 0 : static_cast<std::uint32_t>(std::atoi(text.c_str() + at + 13));
    stream->left = &log_.left[key];
    stream->left->reserve(pace_.tokens);
    stream->write(kHead);
    due_.emplace_back(Steady::now() + pace_.gap, stream);
    if (due_.size() == 1) wait();
  }

  // All have one gap, so who comes first is whoever waited longest: a queue, and no timer for each.
  void wait() {
    timer_.expires_at(due_.front().first);
    timer_.async_wait([this](const error_code& error) {
      if (!error) send_due();
    });
  }

  void send_due() {
    for (int sent = 0; sent < kTokensAtATime && !due_.empty() && due_.front().first <= Steady::now(); ++sent) {
      auto [at, stream] = std::move(due_.front());
      due_.pop_front();
      stream->left->push_back(Steady::now());
      stream->write(token_chunk());
      if (stream->error) continue;
      if (stream->left->size() < pace_.tokens) {
        due_.emplace_back(at + pace_.gap, std::move(stream));
        continue;
      }
      stream->write(last_chunk());
      if (!stream->error) read(stream);
    }
    if (!due_.empty()) wait();
  }

  Pace pace_;
  Log log_;
  asio::io_context context_{1};
  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer timer_;
  std::deque<std::pair<TimePoint, SharedStream>> due_;
  std::thread thread_;
};

PacingServer::PacingServer(Pace pace) : work_(std::make_unique<Work>(pace)) {}
PacingServer::~PacingServer() = default;
std::uint16_t PacingServer::port() const {
  return work_->port();
}
PacingServer::Log PacingServer::stop() {
  return work_->end();
}

}  // namespace takt::bench

#include "load/asio_transport.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <unordered_map>

#include "load/client_connection.h"

namespace takt::load {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t kBeforeNextQuestion = 64;      // events handled between two questions whether to stop
constexpr std::chrono::milliseconds kLookAgain{50};  // for who asks whether to stop, when nothing happens

void raise_open_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

class AsioTransport final : public Transport {
 public:
  AsioTransport(const ServerUrl& url, const TransportOptions& options)
      : url_(url), head_(" HTTP/1.1\r\nHost: " + url.authority() + "\r\nUser-Agent: takt\r\nAccept: */*\r\n") {
    if (!options.api_key.empty()) head_ += "Authorization: Bearer " + options.api_key + "\r\n";
  }

  Status open(const TransportOptions& options) {
    raise_open_file_limit();
    if (url_.tls) {
      tls_.emplace(asio::ssl::context::tls_client);
      error_code error;
      tls_->set_default_verify_paths(error);
      if (!options.ca_file.empty()) tls_->load_verify_file(options.ca_file, error);
      if (error) return Error::invalid("ca_file", "cannot read trusted certificates: " + error.message());
      tls_->set_verify_mode(options.verify_peer ? asio::ssl::verify_peer : asio::ssl::verify_none);
    }
    asio::ip::tcp::resolver resolver(context_);
    error_code error;
    const auto found = resolver.resolve(url_.host, std::to_string(url_.port), error);
    if (error)
      return Error{ErrorCode::kUnavailable, "no such host: " + url_.host + " (" + error.message() + ")", "url"};
    for (const auto& entry : found) endpoints_.push_back(entry.endpoint());
    return {};
  }

  TimePoint now() const override { return std::chrono::steady_clock::now(); }

  TimerId call_at(TimePoint at, std::function<void()> call) override {
    const TimerId id = next_++;
    auto& timer = timers_.try_emplace(id, context_, at).first->second;
    timer.async_wait([this, id, call = std::move(call)](const error_code& error) {
      // A cancelled one may have been on its way already.
      if (error || timers_.erase(id) == 0) return;
      call();
    });
    return id;
  }
  void cancel_call(TimerId id) override { timers_.erase(id); }

  ExchangeId send(OutgoingRequest request, ExchangeObserver& observer) override {
    const ExchangeId id = next_++;
    std::shared_ptr<ClientConnection> connection;
    if (idle_.empty()) {
      connection = std::make_shared<ClientConnection>(context_, tls_ ? &*tls_ : nullptr, url_.host);
    } else {
      connection = std::move(idle_.back());
      idle_.pop_back();
    }
    running_.emplace(id, connection);
    connection->exchange(bytes_of(request), endpoints_, observer, [this, id](bool usable) {
      const auto found = running_.find(id);
      if (found == running_.end()) return;
      auto done = std::move(found->second);
      running_.erase(found);
      if (usable) keep(std::move(done));
    });
    return id;
  }

  void abandon(ExchangeId id) override {
    const auto found = running_.find(id);
    if (found == running_.end()) return;
    found->second->close();
    running_.erase(found);
  }

  void run_until(const std::function<bool()>& done) override {
    context_.restart();
    while (!done()) {
      if (context_.run_one_for(kLookAgain) == 0 && context_.stopped()) return;
      // What is ready too costs no look at the clock, and no question, for each.
      for (std::size_t more = 0; more < kBeforeNextQuestion && context_.poll_one() > 0; ++more) {
      }
    }
  }

 private:
  std::string bytes_of(const OutgoingRequest& request) const {
    std::string bytes = request.method + " " + url_.prefix + request.target + head_;
    for (const auto& [name, value] : request.headers) bytes.append(name).append(": ").append(value).append("\r\n");
    if (!request.body.empty() || request.method == "POST") {
      bytes += "Content-Type: application/json\r\nContent-Length: " + std::to_string(request.body.size()) + "\r\n";
    }
    bytes += "\r\n";
    bytes += request.body;
    return bytes;
  }

  void keep(std::shared_ptr<ClientConnection> connection) {
    idle_.push_back(connection);
    connection->idle([this, which = connection.get()] {
      std::erase_if(idle_, [&](const auto& one) { return one.get() == which; });
    });
  }

  ServerUrl url_;
  std::string head_;  // from the version on: what every request has
  asio::io_context context_{1};
  std::optional<asio::ssl::context> tls_;
  ClientConnection::Endpoints endpoints_;
  std::vector<std::shared_ptr<ClientConnection>> idle_;
  std::unordered_map<ExchangeId, std::shared_ptr<ClientConnection>> running_;
  std::unordered_map<TimerId, asio::steady_timer> timers_;
  std::uint64_t next_ = 1;
};

bool fits_a_header(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

}  // namespace

Result<std::unique_ptr<Transport>> make_asio_transport(const ServerUrl& url, const TransportOptions& options) {
  if (!fits_a_header(options.api_key))
    return Error::invalid("api_key", "the API key may have printable ASCII characters only, and no spaces");
  auto transport = std::make_unique<AsioTransport>(url, options);
  if (const auto status = transport->open(options); !status) return status.error();
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace takt::load

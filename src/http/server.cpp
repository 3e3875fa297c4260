#include "http/server.h"
#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/thread_name.h"
#include "http/listener.h"
#include "http/network.h"
#include "http/session.h"

namespace takt::http {

struct Server::State {
  using Work = boost::asio::executor_work_guard<boost::asio::io_context::executor_type>;

  explicit State(std::shared_ptr<Network> shared)
      : network(std::move(shared)),
        listener(std::make_shared<Listener>(network)),
        work(std::in_place, network->io.get_executor()) {}

  std::shared_ptr<Network> network;
  std::shared_ptr<Listener> listener;
  std::optional<Work> work;
  std::vector<std::thread> threads;
  std::mutex stopping;
  bool listening = true;
  bool stopped = false;
};

namespace {

void run_network(boost::asio::io_context& io) {
  name_this_thread("takt-http");
  while (true) {
    try {
      io.run();
      return;
    } catch (const std::exception& error) {
      spdlog::error("http: a network thread goes on after an exception: {}", error.what());
    }
  }
}

// At least one, or throws.
void start_threads(const std::shared_ptr<Network>& network, std::vector<std::thread>& threads) {
  try {
    for (int i = 0; i < network->options.threads; ++i) {
      threads.emplace_back([io = &network->io] { run_network(*io); });
    }
  } catch (const std::exception& error) {
    if (threads.empty()) throw;
    spdlog::warn("http: {} network threads instead of {}: {}", threads.size(), network->options.threads, error.what());
  }
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, Hooks hooks, Handler& handler) {
  options.threads = std::max(1, options.threads);
  try {
    auto state = std::make_unique<State>(std::make_shared<Network>(std::move(options), std::move(hooks), handler));
    if (Status opened = state->listener->open(); !opened) return opened.error();
    start_threads(state->network, state->threads);
    state->listener->start();
    return std::unique_ptr<Server>(new Server(std::move(state)));
  } catch (const std::exception& error) {
    return Error{ErrorCode::kIo, std::string("Cannot start the HTTP server: ") + error.what() + ".", {}};
  }
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

Server::~Server() {
  stop();
}

std::uint16_t Server::port() const {
  return state_->listener->port();
}

void Server::stop_accepting() {
  std::lock_guard lock(state_->stopping);
  if (!std::exchange(state_->listening, false)) return;
  state_->network->draining->store(true);
  state_->listener->close();
  for (const auto& session : state_->network->connections.all()) session->drain();
}

bool Server::wait_idle(Duration wait) {
  return state_->network->connections.wait_idle(wait);
}

void Server::stop() {
  stop_accepting();
  std::lock_guard lock(state_->stopping);
  if (std::exchange(state_->stopped, true)) return;
  state_->network->connections.close();
  for (const auto& session : state_->network->connections.all()) session->stop();
  state_->work.reset();
  for (auto& thread : state_->threads) thread.join();
}

std::size_t Server::open_connections() const {
  return state_->network->connections.size();
}

std::size_t Server::requests_in_progress() const {
  return state_->network->connections.working();
}

}  // namespace takt::http

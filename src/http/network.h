// What the sessions of one server share.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <memory>

#include "http/connection_table.h"
#include "http/handler.h"
#include "http/hooks.h"
#include "http/options.h"
#include "http/origin_policy.h"

namespace takt::http {

// Lives as long as any session, so that a late responder finds no dangling socket.
struct Network {
  Network(ServerOptions server_options, Hooks server_hooks, Handler& request_handler)
      : io(server_options.threads),
        options(std::move(server_options)),
        hooks(std::move(server_hooks)),
        handler(request_handler),
        origins(options.cors_allowed_origins),
        connections(options.connections, options.connections_per_peer) {}

  Response render_error(int status, std::string_view reason) const {
    if (hooks.render_error) return hooks.render_error(status, reason);
    Response response;
    response.status = status;
    response.content_type = "text/plain; charset=utf-8";
    response.body = std::string(reason) + "\n";
    return response;
  }

  boost::asio::io_context io;
  const ServerOptions options;
  const Hooks hooks;
  Handler& handler;
  const OriginPolicy origins;
  ConnectionTable connections;
  const std::shared_ptr<std::atomic<bool>> draining = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace takt::http

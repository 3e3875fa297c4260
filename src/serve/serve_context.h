// What the serving side works with. Everything outlives its users; `delivery` is among the event sinks of every engine
// in the registry.
#pragma once

#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "core/request_watcher.h"
#include "route/router.h"
#include "serve/config_source.h"
#include "serve/delivery.h"
#include "serve/model_registry.h"
#include "serve/status_source.h"

namespace takt::serve {

struct ServeContext {
  const ModelRegistry& models;
  const route::Router& router;
  StatusSource& status;
  Delivery& delivery;
  ConfigSource* config;                        // null: nobody may see or change it
  const Clock& clock;                          // the engines' clock
  std::function<std::int64_t()> unix_seconds;  // wall time, for `created`
  RequestWatcher* watcher = nullptr;           // null: nobody watches
};

}  // namespace takt::serve

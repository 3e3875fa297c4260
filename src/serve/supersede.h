// The latest request of each supersede key: a new one takes the place of the one before (H13).
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "serve/exchange.h"

namespace takt::serve {

// Keys are of one caller: they hold the tenant and user that they belong to. Safe to use from several threads.
class SupersedeTable {
 public:
  // Puts the request there, and returns the one that was there, if it is not over.
  std::shared_ptr<Exchange> replace(const std::string& key, const std::shared_ptr<Exchange>& exchange);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<Exchange>> latest_;
  std::size_t sweep_at_ = 1024;
};

}  // namespace takt::serve

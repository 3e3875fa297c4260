#include "serve/supersede.h"

#include <algorithm>
#include <utility>

namespace takt::serve {

std::shared_ptr<Exchange> SupersedeTable::replace(const std::string& key, const std::shared_ptr<Exchange>& exchange) {
  const std::lock_guard lock(mutex_);
  if (latest_.size() >= sweep_at_) {
    std::erase_if(latest_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max<std::size_t>(1024, latest_.size() * 2);
  }
  auto before = std::exchange(latest_[key], exchange).lock();
  return before != nullptr && !before->over.load() ? before : nullptr;
}

}  // namespace takt::serve

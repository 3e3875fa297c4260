#include "serve/refusal.h"

#include <string_view>

namespace takt::serve {

RequestHints hints_of(const Exchange& exchange) {
  RequestHints hints;
  for (const auto& [name, value] : exchange.wishes.headers) {
    if (name == "x-takt-task") hints.task = value;
    if (name == "x-takt-session") hints.session = value;
  }
  return hints;
}

void note_refused(const ServeContext& context, const RefusedRequest& request) {
  context.status.count_refusal(request.labels, request.reason);
  if (context.watcher != nullptr) context.watcher->refused(request);
}

void note_refused(const ServeContext& context, const Exchange& exchange, const RequestLabels& labels,
                  ErrorCode reason) {
  note_refused(context, {exchange.id, exchange.arrival, labels, reason, hints_of(exchange), 0});
}

}  // namespace takt::serve

// Requests for an answer that end before an engine accepts them: counted, and told to who watches requests.
#pragma once

#include "core/request_watcher.h"
#include "serve/exchange.h"
#include "serve/serve_context.h"

namespace takt::serve {

// What the caller's headers say beside the labels. As long as the exchange lives.
RequestHints hints_of(const Exchange& exchange);

// Once for each such request.
void note_refused(const ServeContext& context, const RefusedRequest& request);
// With what an exchange knows; `labels` as far as they are known.
void note_refused(const ServeContext& context, const Exchange& exchange, const RequestLabels& labels, ErrorCode reason);

}  // namespace takt::serve

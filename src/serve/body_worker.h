// What text workers do with a request's body: parse it, build the prompts, and lead them to an engine or answer at
// once.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "api/generation_request.h"
#include "base/result.h"
#include "core/request.h"
#include "core/request_watcher.h"
#include "serve/endpoints.h"
#include "serve/exchange.h"
#include "serve/options.h"
#include "serve/prompt_builder.h"
#include "serve/serve_context.h"

namespace takt::serve {

using ExchangePtr = std::shared_ptr<Exchange>;

// Safe to use from several threads at once.
class BodyWorker {
 public:
  // The arguments outlive this object.
  BodyWorker(const ServeContext& context, const ServeOptions& options, RequestIds& ids);

  // Every exchange gets an answer, or an error, or leads to an Answer that gives one; nothing is thrown.
  void work_on(Endpoint endpoint, const std::string& body, const ExchangePtr& exchange);

 private:
  // A typed request with its prompts in tokens.
  struct Generation {
    api::AnswerKind kind = api::AnswerKind::kChat;
    const ServedModel* model = nullptr;
    route::Route route;
    api::GenerationOptions options;
    bool echo = false;
    std::vector<BuiltPrompt> prompts;
  };

  struct PromptSize {
    std::size_t bytes;
    std::size_t prompts;
  };

  // What is known of a request so far, for those who are told of a refusal.
  struct Asked {
    RequestLabels labels;
    RequestHints hints;
    std::uint64_t prompt_bytes;
  };

  Status dispatch(Endpoint endpoint, const std::string& body, const ExchangePtr& exchange, Asked& asked);
  Status chat(const std::string& body, const ExchangePtr& exchange, Asked& asked);
  Status completions(const std::string& body, const ExchangePtr& exchange, Asked& asked);
  Status tokenize(const std::string& body, const Exchange& exchange) const;
  Status detokenize(const std::string& body, const Exchange& exchange) const;

  Result<route::Route> route_of(const Exchange& exchange, const ServedModel& model,
                                const api::GenerationOptions& options, const PromptSize& size) const;
  static void note_options(Asked& asked, const ServedModel& model, const api::GenerationOptions& options,
                           const PromptSize& size);
  static RequestHints hints_of(const Generation& generation, const Exchange& exchange);
  void offer_to_watcher(const Generation& generation, const EngineRequest& request, const Exchange& exchange) const;
  // Everything about a request that can be told before its prompts are tokenized.
  Status check_door(const ServedModel& model, const api::GenerationOptions& options, const route::Route& route,
                    const PromptSize& size) const;
  bool charge_prompts(const Generation& generation, const Exchange& exchange) const;
  Status generate(Generation generation, const ExchangePtr& exchange);
  std::vector<EngineRequest> engine_requests(const Generation& generation, const Exchange& exchange,
                                             std::uint64_t seed);

  const ServeContext& context_;
  const ServeOptions& options_;
  RequestIds& ids_;
};

}  // namespace takt::serve

// The models that are served, by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/answer.h"
#include "base/result.h"
#include "core/ids.h"
#include "core/submitter.h"
#include "route/key_ring.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace takt::serve {

struct ServedModel {
  std::string name;
  ModelIndex index;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const ChatTemplate> chat_template;  // null: the model has none, and chat is refused
  Submitter* engine = nullptr;                        // outlives the registry
  std::uint32_t max_request_tokens = 0;               // prompt and output; what the engine really takes
  std::int64_t created = 0;                           // seconds since 1970
  std::string template_error{};                       // why the chat template that it has cannot be used
};

// Immutable: at least one model, names distinct.
class ModelRegistry {
 public:
  // Errors: kInvalidArgument.
  static Result<ModelRegistry> create(std::vector<ServedModel> models);

  // An empty name and "default" mean the first model that this caller may use. Errors: kNotFound with the names of
  // those.
  Result<const ServedModel*> find(std::string_view asked, const route::Identity& caller) const;
  // What this caller may use.
  std::vector<api::ModelCard> cards(const route::Identity& caller) const;

 private:
  std::vector<ServedModel> models_;
};

}  // namespace takt::serve

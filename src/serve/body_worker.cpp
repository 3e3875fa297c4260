#include "serve/body_worker.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "api/api_error.h"
#include "api/parse_request.h"
#include "api/write_answer.h"
#include "base/log.h"
#include "base/random.h"
#include "serve/access_log.h"
#include "serve/refusal.h"
#include "text/detokenizer.h"

namespace takt::serve {

namespace {

// For the queue's door, before anything is tokenized: text has about four bytes a token.
constexpr std::size_t kBytesPerToken = 4;
// Seeds that the server makes are exact in every client's number type.
constexpr std::uint64_t kOwnSeedMask = (std::uint64_t{1} << 53) - 1;

std::size_t prompt_bytes(const std::vector<api::Prompt>& prompts) {
  std::size_t bytes = 0;
  for (const api::Prompt& prompt : prompts) {
    const auto* text = std::get_if<std::string>(&prompt);
    bytes += text != nullptr ? text->size() : std::get<std::vector<TokenId>>(prompt).size() * kBytesPerToken;
  }
  return bytes;
}

std::string prompt_field(std::size_t index, std::size_t count) {
  return count == 1 ? "prompt" : "prompt[" + std::to_string(index) + "]";
}

bool nobody_waits(const Exchange& exchange) {
  return exchange.client_gone.load() || exchange.over.load();
}

}  // namespace

BodyWorker::BodyWorker(const ServeContext& context, const ServeOptions& options, RequestIds& ids)
    : context_(context), options_(options), ids_(ids) {}

void BodyWorker::work_on(Endpoint endpoint, const std::string& body, const ExchangePtr& exchange) {
  if (exchange->client_gone.load()) return;
  Asked asked{context_.router.labels_of(exchange->identity), serve::hints_of(*exchange), 0};
  Status status;
  try {
    status = exchange->superseded.load() ? Status(api::superseded()) : dispatch(endpoint, body, exchange, asked);
  } catch (const std::exception& failure) {
    spdlog::error("request {}: {}", api::request_name(exchange->id), failure.what());
    status = Error::internal("The request could not be worked on");
  }
  if (status) return;
  const api::ApiError error = api::to_api_error(status.error());
  if (endpoint == Endpoint::kChat || endpoint == Endpoint::kCompletions) {
    note_refused(context_,
                 {exchange->id, exchange->arrival, asked.labels, status.error().code, asked.hints, asked.prompt_bytes});
    if (options_.access_log) log_refusal(*exchange, asked.labels, error, context_.clock.now());
  }
  answer_error(*exchange, error);
}

Status BodyWorker::dispatch(Endpoint endpoint, const std::string& body, const ExchangePtr& exchange, Asked& asked) {
  switch (endpoint) {
    case Endpoint::kChat:
      return chat(body, exchange, asked);
    case Endpoint::kCompletions:
      return completions(body, exchange, asked);
    case Endpoint::kTokenize:
      return tokenize(body, *exchange);
    case Endpoint::kDetokenize:
      return detokenize(body, *exchange);
    default:
      return Error::internal("This endpoint takes no body");
  }
}

Status BodyWorker::chat(const std::string& body, const ExchangePtr& exchange, Asked& asked) {
  auto request = api::parse_chat(body, options_.api);
  if (!request) return request.error();
  const auto model = context_.models.find(request->options.model, exchange->identity);
  if (!model) return model.error();
  const PromptSize size{request->conversation.messages.size(), 1};
  note_options(asked, **model, request->options, size);
  auto route = route_of(*exchange, **model, request->options, size);
  if (!route) return route.error();
  asked.labels = route->labels;
  if (auto door = check_door(**model, request->options, *route, size); !door) return door;
  if (exchange->client_gone.load()) return {};
  auto prompt = build_chat_prompt(**model, request->conversation, Purpose::kAnswer);
  if (!prompt) return prompt.error();
  Generation generation{api::AnswerKind::kChat, *model, std::move(*route), std::move(request->options), false, {}};
  generation.prompts.push_back(std::move(prompt).value());
  return generate(std::move(generation), exchange);
}

Status BodyWorker::completions(const std::string& body, const ExchangePtr& exchange, Asked& asked) {
  auto request = api::parse_completion(body, options_.api);
  if (!request) return request.error();
  const auto model = context_.models.find(request->options.model, exchange->identity);
  if (!model) return model.error();
  const std::size_t count = request->prompts.size();
  const PromptSize size{prompt_bytes(request->prompts), count};
  note_options(asked, **model, request->options, size);
  auto route = route_of(*exchange, **model, request->options, size);
  if (!route) return route.error();
  asked.labels = route->labels;
  if (auto door = check_door(**model, request->options, *route, size); !door) return door;
  Generation generation{api::AnswerKind::kCompletion, *model,        std::move(*route),
                        std::move(request->options),  request->echo, {}};
  for (std::size_t i = 0; i < count; ++i) {
    if (exchange->client_gone.load()) return {};
    auto prompt = build_plain_prompt(**model, request->prompts[i], prompt_field(i, count));
    if (!prompt) return prompt.error();
    generation.prompts.push_back(std::move(prompt).value());
  }
  return generate(std::move(generation), exchange);
}

Status BodyWorker::tokenize(const std::string& body, const Exchange& exchange) const {
  auto request = api::parse_tokenize(body, options_.api);
  if (!request) return request.error();
  const auto model = context_.models.find(request->model, exchange.identity);
  if (!model) return model.error();
  api::TokenizeAnswer answer;
  answer.model = (*model)->name;
  answer.max_request_tokens = (*model)->max_request_tokens;
  if (const auto* conversation = std::get_if<api::Conversation>(&request->input)) {
    auto prompt = build_chat_prompt(**model, *conversation, Purpose::kCount);
    if (!prompt) return prompt.error();
    answer.tokens = std::move(prompt->tokens);
    answer.prompt = std::move(prompt->text);
  } else {
    const auto& text = std::get<std::string>(request->input);
    auto tokens = (*model)->tokenizer->encode(
        text, {.add_special = request->add_special, .parse_special = request->parse_special});
    if (!tokens) return Error::invalid("text", tokens.error().message);
    answer.tokens = std::move(tokens).value();
  }
  if (request->with_pieces) {
    for (const TokenId token : answer.tokens) answer.pieces.emplace_back((*model)->tokenizer->piece(token, true));
  }
  answer_json(exchange, 200, api::tokenize_answer(answer));
  return {};
}

Status BodyWorker::detokenize(const std::string& body, const Exchange& exchange) const {
  auto request = api::parse_detokenize(body, options_.api);
  if (!request) return request.error();
  const auto model = context_.models.find(request->model, exchange.identity);
  if (!model) return model.error();
  if (auto known = check_in_vocabulary(**model, request->tokens, "tokens"); !known) return known;
  Utf8Stream utf8;
  std::string text = utf8.push(text_of(*(*model)->tokenizer, request->tokens));
  text += utf8.finish();
  answer_json(exchange, 200, api::detokenize_answer(text));
  return {};
}

Result<route::Route> BodyWorker::route_of(const Exchange& exchange, const ServedModel& model,
                                          const api::GenerationOptions& options, const PromptSize& size) const {
  route::Wishes wishes = exchange.wishes;
  wishes.service_tier = options.service_tier;
  if (wishes.user.empty()) wishes.user = options.user;
  wishes.model = model.name;
  wishes.prompt_tokens = size.bytes / kBytesPerToken;
  return context_.router.route(exchange.identity, wishes);
}

void BodyWorker::note_options(Asked& asked, const ServedModel& model, const api::GenerationOptions& options,
                              const PromptSize& size) {
  asked.hints.model = model.name;
  asked.hints.stream = options.stream;
  asked.hints.max_tokens = options.max_tokens;
  asked.prompt_bytes = size.bytes;
}

Status BodyWorker::check_door(const ServedModel& model, const api::GenerationOptions& options,
                              const route::Route& route, const PromptSize& size) const {
  if (auto known = check_in_vocabulary(model, options.stop_tokens, "stop_token_ids"); !known) return known;
  if (auto known = check_in_vocabulary(model, options.sampling.logit_bias); !known) return known;
  // A prompt beyond the context gets its own, better answer once its tokens are counted.
  const std::size_t estimate =
      std::min<std::size_t>(size.bytes / kBytesPerToken + size.prompts, size.prompts * model.max_request_tokens);
  return model.engine->check_room({route.labels.tier, route.service_class}, estimate,
                                  static_cast<std::uint32_t>(options.choices * size.prompts));
}

RequestHints BodyWorker::hints_of(const Generation& generation, const Exchange& exchange) {
  RequestHints hints = serve::hints_of(exchange);
  hints.model = generation.model->name;
  hints.stream = generation.options.stream;
  hints.max_tokens = generation.options.max_tokens;
  return hints;
}

// The prompts count against the key's minute before anything is computed. False: refused, and answered.
bool BodyWorker::charge_prompts(const Generation& generation, const Exchange& exchange) const {
  if (exchange.quota == nullptr) return true;
  std::uint64_t tokens = 0;
  for (const BuiltPrompt& prompt : generation.prompts) tokens += prompt.tokens.size();
  const auto refused = exchange.quota->charge_prompt(tokens);
  if (!refused) return true;
  note_refused(context_, {exchange.id, exchange.arrival, generation.route.labels, refused->error.code,
                          hints_of(generation, exchange), tokens * kBytesPerToken});
  api::ApiError error = api::to_api_error(refused->error);
  error.retry_after_seconds = refused->retry_after_seconds;
  if (options_.access_log) log_refusal(exchange, generation.route.labels, error, context_.clock.now());
  answer_error(exchange, error);
  return false;
}

Status BodyWorker::generate(Generation generation, const ExchangePtr& exchange) {
  if (exchange->client_gone.load()) return {};
  if (exchange->superseded.load()) return api::superseded();
  if (!charge_prompts(generation, *exchange)) return {};
  const api::GenerationOptions& options = generation.options;
  const std::uint64_t seed = options.seed ? *options.seed : fresh_seed() & kOwnSeedMask;
  std::vector<EngineRequest> requests = engine_requests(generation, *exchange, seed);

  AnswerPlan plan;
  plan.head = {generation.kind,         api::answer_id(generation.kind, exchange->id),
               context_.unix_seconds(), generation.model->name,
               options.include_usage,   options.wants_logprobs()};
  plan.labels = generation.route.labels;
  plan.stream = options.stream;
  plan.echo = generation.echo;
  plan.choices = options.choices;
  plan.stops = options.stops;
  plan.seed = seed;
  plan.tokenizer = generation.model->tokenizer;
  plan.engine = generation.model->engine;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    plan.parts.push_back(
        {requests[i].id, std::move(generation.prompts[i].tokens), std::move(generation.prompts[i].text)});
  }
  std::vector<RequestId> unasked;  // the last one is next
  for (auto request = requests.rbegin(); request != requests.rend(); ++request) unasked.push_back(request->id);
  context_.delivery.open(std::make_unique<Answer>(exchange, std::move(plan), options_));

  for (EngineRequest& request : requests) {
    const RequestId id = request.id;
    const RequestLabels labels = request.labels;
    if (context_.watcher != nullptr) offer_to_watcher(generation, request, *exchange);
    if (auto accepted = generation.model->engine->submit(std::move(request)); !accepted) {
      // The answer is open: its own thread ends it, and cancels the parts that were accepted before this one.
      note_refused(context_,
                   {id, exchange->arrival, labels, accepted.error().code, hints_of(generation, *exchange), 0});
      context_.delivery.withdraw(std::move(unasked));
      context_.delivery.fail(exchange->id, accepted.error());
      return {};
    }
    unasked.pop_back();
    if (exchange->superseded.load()) {
      context_.delivery.withdraw(std::move(unasked));
      context_.delivery.fail(exchange->id, api::superseded());
      return {};
    }
    if (nobody_waits(*exchange)) {
      context_.delivery.withdraw(std::move(unasked));
      generation.model->engine->cancel(id, CancelCause::kClientGone);
      context_.delivery.abandon(exchange->id, CancelCause::kClientGone);
      return {};
    }
  }
  return {};
}

void BodyWorker::offer_to_watcher(const Generation& generation, const EngineRequest& request,
                                  const Exchange& exchange) const {
  const auto& tokenizer = generation.model->tokenizer;
  context_.watcher->offered({request, hints_of(generation, exchange), [tokenizer](std::span<const TokenId> tokens) {
                               return text_of(*tokenizer, {tokens.begin(), tokens.end()});
                             }});
}

std::vector<EngineRequest> BodyWorker::engine_requests(const Generation& generation, const Exchange& exchange,
                                                       std::uint64_t seed) {
  const api::GenerationOptions& options = generation.options;
  EngineRequest common;
  common.model = generation.model->index;
  common.labels = generation.route.labels;
  common.targets = generation.route.targets;
  common.service_class = generation.route.service_class;
  common.weight = generation.route.weight;
  common.deadline = generation.route.deadline;
  common.cache_salt = generation.route.cache_salt;
  common.arrival = exchange.arrival;
  common.choices = options.choices;
  common.max_tokens = options.max_tokens;
  common.min_tokens = options.min_tokens;
  common.end_tokens = options.stop_tokens;
  if (!options.ignore_eos) {
    const auto& ends = generation.model->tokenizer->vocabulary().end_of_generation;
    common.end_tokens.insert(common.end_tokens.end(), ends.begin(), ends.end());
  }
  common.prompt_logprobs = generation.echo && options.wants_logprobs();
  common.sampling = options.sampling;
  common.sampling.seed = seed;
  common.use_prefix_cache = options.use_prefix_cache;

  std::vector<EngineRequest> requests;
  for (std::size_t i = 0; i < generation.prompts.size(); ++i) {
    requests.push_back(common);
    requests.back().id = i == 0 ? exchange.id : ids_.next();
    requests.back().prompt = generation.prompts[i].tokens;
    // More output than the context has room for is not an error: the answer ends there, as `length`.
    const std::size_t room = generation.model->max_request_tokens - generation.prompts[i].tokens.size();
    if (options.max_tokens) {
      requests.back().max_tokens = static_cast<std::uint32_t>(std::min<std::size_t>(*options.max_tokens, room));
    }
  }
  return requests;
}

}  // namespace takt::serve

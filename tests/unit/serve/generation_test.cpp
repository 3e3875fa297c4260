// From a body to the engine: what it is asked, and what is refused before it is.
#include <boost/json.hpp>

#include "unit/serve/captured_log.h"
#include "unit/serve/serve_fixture.h"

namespace takt::test {
namespace {

namespace json = boost::json;

json::object error_of(const RecordingResponder& responder) {
  EXPECT_TRUE(responder.wait_ended());
  return json::parse(responder.record().body).at("error").as_object();
}

class GenerationTest : public ServeFixture {};

// C13: exactly one BOS, from the template or from the tokenizer.
TEST_F(GenerationTest, AChatPromptHasOneBeginToken) {
  chat();
  EXPECT_EQ(engine_.wait_submitted().prompt, (std::vector<TokenId>{kBegin, kTurn, 'h', 'e', 'l', 'l', 'o'}));
  template_->set({"hi", {}});
  chat();
  EXPECT_EQ(engine_.wait_submitted(2).prompt, (std::vector<TokenId>{kBegin, 'h', 'i'}));
}

// C14
TEST_F(GenerationTest, ControlTokensInUntrustedTextStayText) {
  template_->set({"<turn><turn>", {{6, 12}}});
  chat();
  EXPECT_EQ(engine_.wait_submitted().prompt, (std::vector<TokenId>{kBegin, kTurn, '<', 't', 'u', 'r', 'n', '>'}));
}

TEST_F(GenerationTest, TheEngineGetsWhatWasAskedFor) {
  chat(
      R"("max_tokens":5,"min_tokens":2,"stop_token_ids":[65],"temperature":0,"seed":3,"user":"anna","cache_prompt":false)");
  const EngineRequest request = engine_.wait_submitted();
  EXPECT_EQ(request.max_tokens, 5u);
  EXPECT_EQ(request.min_tokens, 2u);
  EXPECT_EQ(request.end_tokens, (std::vector<TokenId>{65, kEnd}));
  EXPECT_EQ(request.sampling.temperature, 0.0F);
  EXPECT_EQ(request.sampling.seed, 3u);
  EXPECT_EQ(request.labels.user, "anna");
  EXPECT_EQ(request.labels.service_class, "chat");
  EXPECT_FALSE(request.use_prefix_cache);
}

TEST_F(GenerationTest, IgnoreEosLeavesTheCallersOwnStopTokens) {
  chat(R"("ignore_eos":true,"stop_token_ids":[65])");
  EXPECT_EQ(engine_.wait_submitted().end_tokens, (std::vector<TokenId>{65}));
}

TEST_F(GenerationTest, AFreshSeedIsExactInEveryClientAndReported) {
  const auto client = chat();
  const EngineRequest request = engine_.wait_submitted();
  EXPECT_LT(request.sampling.seed, std::uint64_t{1} << 53);
  answer(request.id, "x");
  ASSERT_TRUE(client->wait_ended());
  EXPECT_EQ(client->record().header("x-takt-seed"), std::to_string(request.sampling.seed));
}

// C6: one name for the answer, its header, the engine's request and the log.
TEST_F(GenerationTest, FourEqualRequestsKeepTheirNamesApart) {
  const CapturedLog log;
  std::vector<std::shared_ptr<RecordingResponder>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(chat());
  engine_.wait_submitted(4);
  for (const EngineRequest& request : engine_.submitted()) answer(request.id, api::request_name(request.id));
  for (const auto& client : clients) {
    ASSERT_TRUE(client->wait_ended());
    const std::string name = client->record().header("x-request-id");
    const auto body = json::parse(client->record().body).as_object();
    EXPECT_EQ(body.at("id").as_string(), "chatcmpl-" + name);
    EXPECT_EQ(body.at("choices").at(0).at("message").at("content").as_string(), name);
  }
  ASSERT_TRUE(handler_->wait_until_idle(std::chrono::seconds(20)));
  for (const EngineRequest& request : engine_.submitted()) {
    const std::string line = "info access id=" + api::request_name(request.id) +
                             " class=chat tier=realtime tenant=default app=- outcome=answered code=- prompt_tokens=7 "
                             "cached_tokens=0 output_tokens=16 queue_seconds=0.000 ttft_seconds=0.000 "
                             "total_seconds=0.000\n";
    const std::string logged = log.text();
    const std::size_t at = logged.find(line);
    ASSERT_NE(at, std::string::npos) << logged;
    EXPECT_EQ(logged.find(line, at + 1), std::string::npos) << "once";
  }
}

TEST_F(GenerationTest, AnAbsentOrDefaultModelIsTheFirst) {
  chat();
  EXPECT_EQ(engine_.wait_submitted().model, ModelIndex(0));
  chat(R"("model":"default")");
  EXPECT_EQ(engine_.wait_submitted(2).model, ModelIndex(0));
  complete(R"("model":"plain","prompt":"x")");
  EXPECT_EQ(engine_.wait_submitted(3).model, ModelIndex(1));
}

TEST_F(GenerationTest, AWrongModelIsA404WithTheNames) {
  const auto client = chat(R"("model":"gpt-4")");
  const auto error = error_of(*client);
  EXPECT_EQ(client->record().status, 404);
  EXPECT_EQ(error.at("code"), "model_not_found");
  EXPECT_NE(error.at("message").as_string().find("tiny, plain"), json::string::npos);
}

TEST_F(GenerationTest, AModelWithoutATemplateRefusesChat) {
  const auto client = chat(R"("model":"plain")");
  EXPECT_EQ(error_of(*client).at("param"), "messages");
  EXPECT_EQ(client->record().status, 400);
}

// C16
TEST_F(GenerationTest, ATemplatesOwnWordsAreA400) {
  template_->fail_with(Error::invalid("messages", "roles must alternate"));
  const auto client = chat();
  EXPECT_EQ(error_of(*client).at("message"), "roles must alternate");
  EXPECT_EQ(client->record().status, 400);
}

// D6, D8, D9: one token short of the context is served; from the context on it is a 400 with both numbers, streams too.
TEST_F(GenerationTest, APromptThatFillsTheContextIsRefusedWithBothNumbers) {
  template_->set({"<bos>" + std::string(kContext - 2, 'x'), {}});
  chat(R"("stream":true)");
  EXPECT_EQ(engine_.wait_submitted().prompt.size(), kContext - 1);
  for (const std::uint32_t over : {0u, 1u}) {
    template_->set({"<bos>" + std::string(kContext - 1 + over, 'x'), {}});
    const auto client = chat(R"("stream":true)");
    const auto error = error_of(*client);
    EXPECT_EQ(client->record().status, 400);
    EXPECT_FALSE(client->record().streaming);
    EXPECT_EQ(error.at("code"), "context_length_exceeded");
    EXPECT_NE(error.at("message").as_string().find(std::to_string(kContext + over)), json::string::npos);
    EXPECT_NE(error.at("message").as_string().find(std::to_string(kContext) + ","), json::string::npos);
  }
  EXPECT_EQ(engine_.submitted().size(), 1u);
}

// A hopeless prompt is not counted to its end: four contexts give the exact number, what is longer "more than" that.
TEST_F(GenerationTest, AHopelessPromptIsNotCountedToItsEnd) {
  for (const auto& [tokens, said] : {std::pair(4 * kContext, "has 400 tokens; a request may have 100,"),
                                     std::pair(4 * kContext + 1, "has more than 400 tokens; a request may have 100,"),
                                     std::pair(4000 * kContext, "has more than 400 tokens; a request may have 100,")}) {
    template_->set({"<bos>" + std::string(tokens - 1, 'x'), {}});
    for (const auto& client : {chat(), complete(R"("prompt":")" + std::string(tokens - 1, 'x') + "\"")}) {
      const auto error = error_of(*client);
      EXPECT_EQ(client->record().status, 400);
      EXPECT_EQ(error.at("code"), "context_length_exceeded");
      EXPECT_NE(error.at("message").as_string().find(said), json::string::npos) << error;
    }
  }
  EXPECT_TRUE(engine_.submitted().empty());
  // Who asks for the count gets it.
  template_->set({"<bos>" + std::string(999, 'x'), {}});
  const auto counted = request("POST", "/v1/tokenize", R"({"messages":[{"role":"user","content":"hi"}]})");
  ASSERT_TRUE(counted->wait_ended());
  EXPECT_EQ(json::parse(counted->record().body).at("count"), 1000);
}

// C20: a limit beyond the context is no error; the answer ends where the context does.
TEST_F(GenerationTest, OutputBeyondTheContextEndsThere) {
  chat(R"("max_tokens":512)");
  EXPECT_EQ(engine_.wait_submitted().max_tokens, kContext - 7);
  chat(R"("max_tokens":5)");
  EXPECT_EQ(engine_.wait_submitted(2).max_tokens, 5u);
}

TEST_F(GenerationTest, TokensOutsideTheVocabularyAreRefusedByField) {
  EXPECT_EQ(error_of(*complete(R"("prompt":[1,259])")).at("param"), "prompt[1]");
  EXPECT_EQ(error_of(*complete(R"("prompt":[[1],[1,259]])")).at("param"), "prompt[1][1]");
  EXPECT_EQ(error_of(*complete(R"("prompt":"x","stop_token_ids":[259])")).at("param"), "stop_token_ids[0]");
  EXPECT_EQ(error_of(*complete(R"("prompt":"x","logit_bias":{"259":1})")).at("param"), "logit_bias.259");
}

// A15: the queue's door stands before the tokenizer.
TEST_F(GenerationTest, AFullQueueIsSeenBeforeTheTemplateRuns) {
  engine_.set_room(Error{ErrorCode::kUnavailable, "the queue is full", "queue_full"});
  const auto client = chat();
  EXPECT_EQ(error_of(*client).at("code"), "queue_full");
  EXPECT_EQ(client->record().status, 503);
  EXPECT_NE(client->record().header("retry-after"), "");
  EXPECT_EQ(template_->last_context(), "");
  EXPECT_EQ(status_.refusals().at(0).second, ErrorCode::kUnavailable);
}

// A18: when to come back follows from the queue and from how long requests take.
TEST_F(GenerationTest, ARefusalPredictsWhenToComeBack) {
  const auto first = chat();
  const RequestId id = engine_.wait_submitted().id;
  for (std::uint64_t other = 1; other <= 3; ++other) accept(RequestId(other));
  accept(id);
  admit(id);
  clock_.advance(std::chrono::seconds(6));
  finish(id);
  close(id);
  ASSERT_TRUE(first->wait_ended());
  engine_.set_room(Error{ErrorCode::kUnavailable, "the queue is full", "queue_full"});
  const auto refused = chat();
  ASSERT_TRUE(refused->wait_ended());
  EXPECT_EQ(refused->record().header("retry-after"), "24") << "three wait, and this one";
  engine_.set_room(Error{ErrorCode::kResourceExhausted, "your own limit", {}});
  const auto limited = chat();
  ASSERT_TRUE(limited->wait_ended());
  EXPECT_EQ(limited->record().header("retry-after"), "6");
}

TEST_F(GenerationTest, ARefusalAtTheEnginesDoorIsARealStatus) {
  engine_.accept_only(0, {ErrorCode::kResourceExhausted, "your own limit", {}});
  const auto client = chat(R"("stream":true)");
  EXPECT_EQ(error_of(*client).at("code"), "rate_limit_exceeded");
  EXPECT_EQ(client->record().status, 429);
  EXPECT_EQ(status_.refusals().size(), 1u);
}

TEST_F(GenerationTest, OfSeveralPromptsAllAreTakenOrNone) {
  engine_.accept_only(1, {ErrorCode::kUnavailable, "full", {}});
  const auto client = complete(R"("prompt":["a","b"])");
  EXPECT_EQ(error_of(*client).at("code"), "server_overloaded");
  EXPECT_TRUE(engine_.wait_cancelled(engine_.submitted().at(0).id, CancelCause::kClientGone));
}

// B17
TEST_F(GenerationTest, AClientThatGoesIsCancelledInEveryPhase) {
  const auto queued = chat();
  const RequestId first = engine_.wait_submitted(1).id;
  queued->close();
  EXPECT_TRUE(engine_.wait_cancelled(first, CancelCause::kClientGone));

  const auto decoding = chat(R"("stream":true)");
  const RequestId second = engine_.wait_submitted(2).id;
  admit(second);
  say(second, "x");
  ASSERT_TRUE(decoding->wait_for([](const auto& record) { return record.writes > 0; }));
  decoding->close(http::Responder::Closed::kSlowReader);
  EXPECT_TRUE(engine_.wait_cancelled(second, CancelCause::kSlowReader));

  const auto whole = complete(R"("prompt":["a","b"])");
  engine_.wait_submitted(4);
  whole->close();
  for (const std::size_t i : {2, 3})
    EXPECT_TRUE(engine_.wait_cancelled(engine_.submitted()[i].id, CancelCause::kClientGone));
  EXPECT_TRUE(handler_->wait_until_idle(std::chrono::seconds(20)));
}

// F19, F18: prompts and answers are nowhere but in the answer.
TEST_F(GenerationTest, TokenizeShowsTheRenderedPromptAndItsIds) {
  const auto client =
      request("POST", "/v1/tokenize", R"({"messages":[{"role":"user","content":"x"}],"with_pieces":true})");
  ASSERT_TRUE(client->wait_ended());
  const auto body = json::parse(client->record().body).as_object();
  EXPECT_EQ(body.at("prompt"), "<bos><turn>hello");
  EXPECT_EQ(body.at("count"), 7);
  EXPECT_EQ(body.at("pieces").at(1), "<turn>");
  EXPECT_EQ(body.at("max_model_len"), kContext);
}

TEST_F(GenerationTest, TokenizeAndDetokenizeAreInverse) {
  const auto there = request("POST", "/v1/tokenize", R"({"text":"a€","add_special":false})");
  ASSERT_TRUE(there->wait_ended());
  const auto ids = json::parse(there->record().body).at("tokens").as_array();
  EXPECT_EQ(ids, (json::array{'a', 0xE2, 0x82, 0xAC}));
  const auto back = request("POST", "/v1/detokenize", R"({"tokens":)" + json::serialize(ids) + "}");
  ASSERT_TRUE(back->wait_ended());
  EXPECT_EQ(json::parse(back->record().body).at("text"), "a€");
}

}  // namespace
}  // namespace takt::test

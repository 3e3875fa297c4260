// What the door does by who calls: quotas, models, supersede keys, and whose work it is.
#include <boost/json.hpp>

#include "unit/serve/serve_fixture.h"

namespace takt::test {
namespace {

namespace json = boost::json;

class CallerRulesTest : public ServeFixture {
 protected:
  void start_with_keys(std::string_view key_file, serve::ServeOptions options = {}) {
    start(route::parse_key_file(key_file).value(), options);
  }
  static http::Headers key(const char* key, http::Headers more = {}) {
    more.emplace_back("x-api-key", key);
    return more;
  }
  static std::string code_of(const RecordingResponder& client) {
    return std::string(json::parse(client.record().body).at("error").at("code").as_string());
  }
};

// H9, H6: 429, a code of its own, and the time to come back.
TEST_F(CallerRulesTest, RequestsAMinuteAreBoundedPerKey) {
  start_with_keys("sk-few-111 requests_per_minute=2\nsk-many-11 requests_per_minute=3\n");
  for (int i = 0; i < 2; ++i) {
    const auto client = chat({}, key("sk-few-111"));
    answer(engine_.wait_submitted(static_cast<std::size_t>(i) + 1).id, "ok");
    ASSERT_TRUE(client->wait_ended());
    EXPECT_EQ(client->record().status, 200);
  }
  const auto refused = chat({}, key("sk-few-111"));
  ASSERT_TRUE(refused->wait_ended());
  EXPECT_EQ(refused->record().status, 429);
  EXPECT_EQ(refused->record().header("retry-after"), "61");
  EXPECT_EQ(code_of(*refused), "request_quota_exceeded");
  EXPECT_EQ(status_.refusals().back().second, ErrorCode::kResourceExhausted);
  // Told by the head already, and that takes nothing from anybody.
  http::Request head{"POST", "/v1/chat/completions", {}, key("sk-few-111"), {}, {}};
  const auto refused_early = handler_->refuse_by_head(head);
  EXPECT_EQ(refused_early ? refused_early->status : 0, 429);
  const auto other = chat({}, key("sk-many-11"));
  EXPECT_FALSE(other->record().ended);
  clock_.advance(std::chrono::seconds(61));
  chat({}, key("sk-few-111"));
  EXPECT_NE(engine_.wait_submitted(4).id, RequestId());
}

TEST_F(CallerRulesTest, ListsAndTokenizingTakeNoRequestOfTheQuota) {
  start_with_keys("sk-few-111 requests_per_minute=1\n");
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(request("GET", "/v1/models", {}, key("sk-few-111"))->record().status, 200);
    const auto tokens = request("POST", "/v1/tokenize", R"({"text":"a"})", key("sk-few-111"));
    ASSERT_TRUE(tokens->wait_ended());
    EXPECT_EQ(tokens->record().status, 200);
  }
}

TEST_F(CallerRulesTest, TokensAMinuteCountPromptAndAnswer) {
  start_with_keys("sk-few-111 tokens_per_minute=20\n");
  const auto first = chat({}, key("sk-few-111"));  // its prompt has 7 tokens
  answer(engine_.wait_submitted().id, "0123456789");
  ASSERT_TRUE(first->wait_ended());
  const auto second = chat({}, key("sk-few-111"));
  ASSERT_TRUE(second->wait_ended());
  EXPECT_EQ(second->record().status, 429);
  EXPECT_EQ(code_of(*second), "token_quota_exceeded");
  EXPECT_EQ(engine_.submitted().size(), 1U) << "nothing was computed for it";
}

// H7
TEST_F(CallerRulesTest, APlaceInFlightIsFreeAsSoonAsTheAnswerIsThere) {
  start_with_keys("sk-one-111 max_in_flight=1\n");
  for (std::size_t round = 1; round <= 3; ++round) {
    const auto client = chat({}, key("sk-one-111"));
    const RequestId id = engine_.wait_submitted(round).id;
    const auto refused = chat({}, key("sk-one-111"));
    ASSERT_TRUE(refused->wait_ended());
    EXPECT_EQ(refused->record().status, 429);
    EXPECT_EQ(code_of(*refused), "rate_limit_exceeded");
    answer(id, "ok");
    ASSERT_TRUE(client->wait_ended());
  }
  // A request that is wrong, and one whose client goes, keep no place either.
  const auto wrong = chat(R"("temperature":99)", key("sk-one-111"));
  ASSERT_TRUE(wrong->wait_ended());
  EXPECT_EQ(wrong->record().status, 400);
  const auto gone = chat({}, key("sk-one-111"));
  const RequestId id = engine_.wait_submitted(4).id;
  gone->close();
  ASSERT_TRUE(engine_.wait_cancelled(id, CancelCause::kClientGone));
  const auto next = chat({}, key("sk-one-111"));
  EXPECT_NE(engine_.wait_submitted(5).id, RequestId());
}

// H9
TEST_F(CallerRulesTest, AKeySeesAndUsesItsOwnModelsOnly) {
  start_with_keys("sk-plain-1 models=plain\nsk-all-1111\n");
  const auto models =
      json::parse(request("GET", "/v1/models", {}, key("sk-plain-1"))->record().body).at("data").as_array();
  ASSERT_EQ(models.size(), 1U);
  EXPECT_EQ(models[0].at("id"), "plain");
  EXPECT_EQ(request("GET", "/v1/models/tiny", {}, key("sk-plain-1"))->record().status, 404);
  EXPECT_EQ(request("GET", "/v1/models/tiny", {}, key("sk-all-1111"))->record().status, 200);
  const auto refused = chat(R"("model":"tiny")", key("sk-plain-1"));
  ASSERT_TRUE(refused->wait_ended());
  EXPECT_EQ(refused->record().status, 404);
  EXPECT_EQ(code_of(*refused), "model_not_found");
  request("POST", "/v1/completions", R"({"prompt":"a"})", key("sk-plain-1"));
  EXPECT_EQ(engine_.wait_submitted().model, ModelIndex(1)) << "the first that it may use";
}

TEST_F(CallerRulesTest, AClassReachesTheEngineWithIndexWeightAndDeadline) {
  start_with_keys("sk-heavy-1 weight=2.5 class=voice\n");
  chat({}, key("sk-heavy-1", {{"x-takt-deadline-ms", "250"}}));
  const EngineRequest sent = engine_.wait_submitted();
  EXPECT_EQ(sent.labels.service_class, "voice");
  EXPECT_EQ(sent.service_class, router_->table()->classes.find("voice")->index);
  EXPECT_EQ(engine_.asked_place().service_class, sent.service_class);
  EXPECT_EQ(sent.weight, 2.5);
  EXPECT_EQ(sent.deadline, std::chrono::milliseconds(250));
  const auto wrong = chat({}, key("sk-heavy-1", {{"x-takt-deadline-ms", "-5"}}));
  EXPECT_EQ(wrong->record().status, 400);
  EXPECT_EQ(json::parse(wrong->record().body).at("error").at("param"), "x-takt-deadline-ms");
}

TEST_F(CallerRulesTest, RulesSeeTheModelThePathThePromptAndTheUser) {
  route::RouteOptions options;
  options.rules.resize(3);
  options.rules[0].service_class = "index";
  options.rules[0].model = {"plain"};
  options.rules[0].path = {"/v1/completions"};
  options.rules[1].service_class = "background";
  options.rules[1].min_prompt_tokens = 10;
  options.rules[2].service_class = "agent";
  options.rules[2].user = {"bot-*"};
  router_->replace(route::RoutingTable::create(options, {}, nullptr).value());
  auto class_of = [this, count = std::size_t{0}](const std::string& body) mutable {
    request("POST", "/v1/completions", body);
    return engine_.wait_submitted(++count).labels.service_class;
  };
  EXPECT_EQ(class_of(R"({"prompt":"a","model":"plain"})"), "index");
  EXPECT_EQ(class_of(R"({"prompt":"a"})"), "chat");
  EXPECT_EQ(class_of(R"({"prompt":"0123456789012345678901234567890123456789"})"), "background");
  EXPECT_EQ(class_of(R"({"prompt":"a","user":"bot-7"})"), "agent");
}

// H13: ten key presses, one answer.
TEST_F(CallerRulesTest, OfRequestsWithOneSupersedeKeyTheLastIsAnswered) {
  std::vector<std::shared_ptr<RecordingResponder>> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(chat({}, {{"x-takt-supersede", "editor-1"}}));
    engine_.wait_submitted(static_cast<std::size_t>(i) + 1);
  }
  const auto submitted = engine_.submitted();
  for (std::size_t i = 0; i + 1 < clients.size(); ++i) {
    ASSERT_TRUE(clients[i]->wait_ended());
    EXPECT_EQ(clients[i]->record().status, 409);
    EXPECT_EQ(code_of(*clients[i]), "superseded");
    EXPECT_EQ(clients[i]->record().header("x-should-retry"), "false");
    EXPECT_TRUE(engine_.wait_cancelled(submitted[i].id, CancelCause::kClientGone));
  }
  answer(submitted.back().id, "done");
  ASSERT_TRUE(clients.back()->wait_ended());
  EXPECT_EQ(clients.back()->record().status, 200);
  EXPECT_EQ(engine_.cancels(), 9U);
}

// H13: the stream that runs ends with an error event that says why.
TEST_F(CallerRulesTest, AStreamThatIsSupersededSaysSo) {
  const auto old = chat(R"("stream":true)", {{"x-takt-supersede", "k"}});
  const RequestId id = engine_.wait_submitted().id;
  admit(id);
  say(id, "he");
  ASSERT_TRUE(old->wait_for([](const auto& record) { return record.body.find("he") != std::string::npos; }));
  chat({}, {{"x-takt-supersede", "k"}});
  ASSERT_TRUE(old->wait_for([](const auto& record) { return record.aborted; }));
  EXPECT_NE(old->record().body.find(R"("code":"superseded")"), std::string::npos);
  EXPECT_EQ(old->record().body.find("[DONE]"), std::string::npos);
}

// H13: also one that waits to be read, which then costs no engine anything.
TEST_F(CallerRulesTest, ARequestThatNobodyHasReadYetIsSupersededToo) {
  serve::ServeOptions options;
  options.text_threads = 1;
  start({}, options);
  template_->hold(true);
  const auto busy = chat();
  ASSERT_TRUE(template_->wait_renderings(1));
  std::vector<std::shared_ptr<RecordingResponder>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(chat({}, {{"x-takt-supersede", "k"}}));
  template_->hold(false);
  engine_.wait_submitted(2);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(clients[static_cast<std::size_t>(i)]->wait_ended());
    EXPECT_EQ(clients[static_cast<std::size_t>(i)]->record().status, 409);
  }
  EXPECT_EQ(engine_.submitted().size(), 2U);
  EXPECT_FALSE(clients.back()->record().ended);
}

TEST_F(CallerRulesTest, SupersedeKeysOfDifferentCallersDoNotMeet) {
  start_with_keys("sk-alpha-1 tenant=a\nsk-beta-22 tenant=b\nsk-front-1 tenant=a delegate\n");
  const auto headers = [&](const char* who, http::Headers more = {}) {
    more.emplace_back("x-takt-supersede", "k");
    return key(who, std::move(more));
  };
  chat({}, headers("sk-alpha-1"));
  const RequestId first = engine_.wait_submitted().id;
  chat({}, headers("sk-beta-22"));
  chat({}, headers("sk-front-1", {{"x-takt-user", "anna"}}));
  chat({}, headers("sk-front-1", {{"x-takt-user", "bert"}}));
  engine_.wait_submitted(4);
  EXPECT_EQ(engine_.cancels(), 0U);
  chat({}, headers("sk-front-1"));
  EXPECT_TRUE(engine_.wait_cancelled(first, CancelCause::kClientGone)) << "the same tenant, no user";
  const auto too_long = chat({}, {{"x-api-key", "sk-alpha-1"}, {"x-takt-supersede", std::string(257, 'x')}});
  EXPECT_EQ(too_long->record().status, 400);
}

TEST_F(CallerRulesTest, AnAnswerThatIsOverIsNotSuperseded) {
  const auto first = chat({}, {{"x-takt-supersede", "k"}});
  answer(engine_.wait_submitted().id, "done");
  ASSERT_TRUE(first->wait_ended());
  chat({}, {{"x-takt-supersede", "k"}});
  engine_.wait_submitted(2);
  EXPECT_EQ(engine_.cancels(), 0U);
  EXPECT_EQ(first->record().status, 200);
}

TEST_F(CallerRulesTest, TheConfigurationIsShownAndChangedThroughTheAdminDoor) {
  serve::ServeOptions local;
  local.local_admin = true;
  start({}, local);
  const auto status = [&](const char* method, const char* body) {
    const auto client = request(method, "/admin/config", body);
    EXPECT_TRUE(client->wait_ended());
    return client;
  };
  EXPECT_EQ(status("GET", "")->record().body, R"({"options":{}})");
  EXPECT_EQ(status("POST", "{}")->record().body, R"({"changed":{}})");
  const auto wrong = status("POST", "wrong");
  EXPECT_EQ(wrong->record().status, 400);
  EXPECT_EQ(json::parse(wrong->record().body).at("error").at("param"), "scheduler.join");
  const auto restart = status("POST", "restart");
  EXPECT_EQ(restart->record().status, 400);
  EXPECT_EQ(code_of(*restart), "unsupported_value");
  EXPECT_EQ(request("PUT", "/admin/config")->record().header("allow"), "GET, HEAD, POST");
}

}  // namespace
}  // namespace takt::test

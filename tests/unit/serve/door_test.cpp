// The door: who comes in, what there is, and how it closes.
#include <boost/json.hpp>

#include <algorithm>

#include "serve/endpoints.h"
#include "unit/serve/captured_log.h"
#include "unit/serve/serve_fixture.h"

namespace takt::test {
namespace {

namespace json = boost::json;

class DoorTest : public ServeFixture {
 protected:
  static std::string path_of(const serve::EndpointRule& rule) {
    return std::string(rule.path) + (rule.path.ends_with('/') ? "tiny" : "");
  }
};

// F18: deny by default, walked over the table of all there is and some that there is not.
TEST_F(DoorTest, EveryPathButTheOpenOnesNeedsAKey) {
  start({{"sk-secret-1", "", ""}}, {});
  for (const serve::EndpointRule& rule : serve::endpoint_rules()) {
    const bool open = rule.access == serve::Access::kOpen;
    for (const http::Headers& headers : {http::Headers{}, http::Headers{{"authorization", "Bearer sk-wrong-1"}}}) {
      const auto client = request(std::string(rule.method), path_of(rule), "{}", headers);
      ASSERT_TRUE(client->wait_ended());
      EXPECT_EQ(client->record().status == 401, !open) << rule.path;
    }
    const auto client = request(std::string(rule.method), path_of(rule), "{}", {{"x-api-key", "sk-secret-1"}});
    ASSERT_TRUE(client->wait_ended());
    EXPECT_EQ(client->record().status == 403, rule.access == serve::Access::kNeedsAdmin) << rule.path;
    EXPECT_NE(client->record().status, 401) << rule.path;
  }
  for (const char* path : {"/", "/slots", "/v1", "/admin", "/admin/nope", "/metrics/"}) {
    const auto client = request("GET", path);
    EXPECT_EQ(client->record().status, 401) << path;
    EXPECT_EQ(client->record().header("www-authenticate"), "Bearer");
  }
  EXPECT_TRUE(engine_.submitted().empty());
}

// F12: what stands between may have read the other one.
TEST_F(DoorTest, ADecidingHeaderThatContradictsItselfIsRefused) {
  start({{.key = "sk-secret-1"}, {.key = "sk-secret-2"}}, {});
  const auto status = [&](http::Headers headers) {
    headers.emplace_back("x-api-key", "sk-secret-1");
    http::Request head{"POST", "/v1/chat/completions", {}, std::move(headers), {}, {}};
    const auto refusal = handler_->refuse_by_head(head);
    return refusal ? refusal->status : 0;
  };
  EXPECT_EQ(status({{"x-api-key", "sk-secret-2"}}), 400);
  EXPECT_EQ(status({{"authorization", "Bearer sk-secret-1"}, {"authorization", "Bearer sk-secret-2"}}), 400);
  EXPECT_EQ(status({{"x-takt-tier", "batch"}, {"x-takt-tier", "realtime"}}), 400);
  EXPECT_EQ(status({{"x-takt-tier", "batch"}, {"x-takt-tier", "batch"}}), 0) << "the same twice says the same";
  EXPECT_EQ(status({{"accept", "a"}, {"accept", "b"}}), 0) << "lists may come in pieces";
}

// F18, F6: who may not come in is told so by the head of the request, before a byte of a body is kept.
TEST_F(DoorTest, WhoMayNotComeInIsToldBeforeTheBody) {
  start({{.key = "sk-secret-1"}, {.key = "sk-admin-12", .admin = true}}, {});
  const auto status = [&](std::string method, std::string path, std::string key) {
    http::Request head{std::move(method), std::move(path), {}, {{"x-api-key", std::move(key)}}, {}, {}};
    const auto refusal = handler_->refuse_by_head(head);
    EXPECT_TRUE(!refusal || refusal->headers.back().first == "x-request-id");
    return refusal ? refusal->status : 0;
  };
  for (const serve::EndpointRule& rule : serve::endpoint_rules()) {
    const bool open = rule.access == serve::Access::kOpen;
    EXPECT_EQ(status(std::string(rule.method), path_of(rule), "sk-wrong-1"), open ? 0 : 401) << rule.path;
    const bool admin = rule.access == serve::Access::kNeedsAdmin;
    EXPECT_EQ(status(std::string(rule.method), path_of(rule), "sk-secret-1"), admin ? 403 : 0) << rule.path;
    EXPECT_EQ(status("PUT", path_of(rule), "sk-secret-1"), admin ? 403 : 405) << rule.path;
    EXPECT_EQ(status("PUT", path_of(rule), "sk-admin-12"), 405) << rule.path;
  }
  EXPECT_EQ(status("POST", "/v1/nope", "sk-secret-1"), 404);
  EXPECT_EQ(status("POST", "/v1/nope", ""), 401);
  handler_->begin_drain();
  EXPECT_EQ(status("POST", "/v1/chat/completions", "sk-secret-1"), 503);
  EXPECT_EQ(status("GET", "/v1/models", "sk-secret-1"), 0);
  EXPECT_EQ(status_.refusals().size(), 1u);
}

// Who was let in by the head is not judged again when the body is there, whatever became of the key; a drain that began
// meanwhile still counts.
TEST_F(DoorTest, ARequestIsJudgedOnceByItsHead) {
  start({{.key = "sk-secret-1", .tenant = "family"}}, {});
  const auto head_of_a_call = [] {
    return http::Request{"POST", "/v1/chat/completions", {}, {{"x-api-key", "sk-secret-1"}}, {}, {}};
  };
  http::Request before = head_of_a_call();
  http::Request later = head_of_a_call();
  ASSERT_FALSE(handler_->refuse_by_head(before));
  ASSERT_FALSE(handler_->refuse_by_head(later));
  route::RouteOptions other;
  other.keys = {{.key = "sk-other-12"}};
  router_->replace(route::RoutingTable::create(other, {}, nullptr).value());
  before.body = later.body = R"({"messages":[{"role":"user","content":"hi"}]})";
  handler_->handle(std::move(before), std::make_shared<RecordingResponder>());
  EXPECT_EQ(engine_.wait_submitted().labels.tenant, "family");
  http::Request fresh = head_of_a_call();
  EXPECT_EQ(handler_->refuse_by_head(fresh)->status, 401);
  handler_->begin_drain();
  const auto client = std::make_shared<RecordingResponder>();
  handler_->handle(std::move(later), client);
  ASSERT_TRUE(client->wait_ended());
  EXPECT_EQ(client->record().status, 503);
}

// H10
TEST_F(DoorTest, AdministratorsLookUpSingleRequests) {
  serve::ServeOptions options;
  options.local_admin = true;
  start({}, options);
  const auto answer = [&](const std::string& path, std::string query = {}) {
    auto responder = std::make_shared<RecordingResponder>();
    handler_->handle({"GET", path, std::move(query), {}, {}, "127.0.0.1"}, responder);
    EXPECT_TRUE(responder->wait_ended());
    return std::pair(responder->record().status, responder->record().body);
  };
  const std::pair<int, std::string> known{200, R"({"id":"0000000000000abc"})"};
  for (const char* name : {"abc", "0000000000000abc", "chatcmpl-0000000000000abc", "cmpl-abc"})
    EXPECT_EQ(answer(std::string("/admin/requests/") + name), known) << name;
  EXPECT_EQ(answer("/admin/requests/def").first, 404);
  for (const char* name : {"xyz", "-1", "0x1", "chatcmpl-", "00000000000000abc", "abc/d", " abc"})
    EXPECT_EQ(answer(std::string("/admin/requests/") + name).first, 400) << name;
  EXPECT_EQ(answer("/admin/requests").second, R"({"requests":[],"asked":"slowest 10"})");
  EXPECT_EQ(answer("/admin/requests", "slowest=3").second, R"({"requests":[],"asked":"slowest 3"})");
  EXPECT_EQ(answer("/admin/requests", "alive=1000").second, R"({"requests":[],"asked":"alive 1000"})");
  for (const char* query : {"slowest=0", "slowest=1001", "slowest=", "slowest=-1", "slowest=3x", "fastest=3",
                            "slowest=3&x=1", "slowest", "alive", "alive=0", "alive=1001", "alive=3&slowest=3"})
    EXPECT_EQ(answer("/admin/requests", query).first, 400) << query;
}

// One line whatever became of a request, with the code of its refusal and without what it was about.
TEST_F(DoorTest, EveryRefusalLeavesOneAccessLine) {
  start({{.key = "sk-secret-1", .tenant = "family"}}, {});
  std::string logged;
  {
    const CapturedLog log;
    const auto post = [&](std::string body, std::string key) {
      return request("POST", "/v1/completions", std::move(body), {{"x-api-key", std::move(key)}});
    };
    ASSERT_TRUE(post(R"({"prompt":"canary"})", "sk-wrong-1")->wait_ended());
    ASSERT_TRUE(post(R"({"prompt":"canary","top_p":7})", "sk-secret-1")->wait_ended());
    ASSERT_TRUE(request("GET", "/v1/models", "", {{"x-api-key", "sk-wrong-1"}})->wait_ended());
    ASSERT_TRUE(handler_->wait_until_idle(std::chrono::seconds(20)));
    logged = log.text();
  }
  EXPECT_EQ(std::count(logged.begin(), logged.end(), '\n'), 2) << logged;
  EXPECT_NE(logged.find("class=- tier=realtime tenant=- app=- outcome=refused code=invalid_api_key"), std::string::npos)
      << logged;
  EXPECT_NE(logged.find("class=chat tier=realtime tenant=family app=- outcome=refused code=invalid_value"),
            std::string::npos)
      << logged;
  EXPECT_EQ(logged.find("canary"), std::string::npos);
}

// F18
TEST_F(DoorTest, AdminPathsNeedAnAdminKeyWhereThereAreKeys) {
  serve::ServeOptions options;
  options.local_admin = true;
  start({{.key = "sk-plain-1"}, {.key = "sk-admin-1", .admin = true}}, options);
  const auto status = [&](std::string path, http::Headers headers) {
    const auto client = request("GET", std::move(path), {}, std::move(headers));
    EXPECT_TRUE(client->wait_ended());
    return client->record().status;
  };
  EXPECT_EQ(status("/admin/config", {}), 401) << "coming from this machine is no key";
  EXPECT_EQ(status("/admin/config", {{"x-api-key", "sk-wrong-1"}}), 401);
  EXPECT_EQ(status("/admin/config", {{"x-api-key", "sk-admin-1"}}), 200);
  EXPECT_EQ(status("/admin/config", {{"authorization", "Bearer sk-admin-1"}}), 200);
  EXPECT_EQ(status("/v1/models", {{"x-api-key", "sk-admin-1"}}), 200);
  for (const char* path : {"/admin/config", "/admin", "/admin/nope"}) {
    const auto refused = request("GET", path, {}, {{"x-api-key", "sk-plain-1"}});
    EXPECT_EQ(refused->record().status, 403) << path;
    EXPECT_EQ(json::parse(refused->record().body).at("error").at("code"), "admin_key_needed");
  }
  EXPECT_EQ(status("/admin/nope", {{"x-api-key", "sk-admin-1"}}), 404);
}

// F18
TEST_F(DoorTest, WithoutKeysOnlyThisMachineMayUseAdminPathsOfAServerThatListensThere) {
  serve::ServeOptions local;
  local.local_admin = true;
  const auto status = [&](std::string peer, http::Headers headers) {
    const auto client = request("GET", "/admin/config", {}, std::move(headers), std::move(peer));
    EXPECT_TRUE(client->wait_ended());
    return client->record().status;
  };
  start({}, local);
  for (const char* peer : {"127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"}) EXPECT_EQ(status(peer, {}), 200);
  for (const char* peer : {"192.168.0.7", "fe80::1", "", "127.evil.example", "1270.0.0.1"})
    EXPECT_EQ(status(peer, {}), 403) << peer;
  for (const char* host : {"localhost:8080", "LOCALHOST", "127.0.0.1:8080", "[::1]:8080"})
    EXPECT_EQ(status("127.0.0.1", {{"host", host}}), 200) << host;
  // A name of somebody else's that points here, a page of another origin, and a proxy that speaks for the world.
  for (const http::Headers& headers : {http::Headers{{"host", "evil.example:8080"}},
                                       {{"host", "127.0.0.1.evil.example"}},
                                       {{"origin", "https://evil.example"}},
                                       {{"origin", "null"}},
                                       {{"origin", "file://"}},
                                       {{"x-forwarded-for", "10.0.0.1"}},
                                       {{"forwarded", "for=10.0.0.1"}},
                                       {{"via", "1.1 proxy"}}})
    EXPECT_EQ(status("127.0.0.1", headers), 403) << headers.front().second;
  EXPECT_EQ(status("127.0.0.1", {{"origin", "http://localhost:8080"}}), 200);
  start({}, {});
  EXPECT_EQ(status("127.0.0.1", {}), 403) << "a server that others can reach";
}

TEST_F(DoorTest, UnknownPathsAndWrongMethodsSayWhatIsWrong) {
  EXPECT_EQ(request("GET", "/nope")->record().status, 404);
  const auto client = request("GET", "/v1/chat/completions");
  EXPECT_EQ(client->record().status, 405);
  EXPECT_EQ(client->record().header("allow"), "POST");
  EXPECT_EQ(request("POST", "/v1/models")->record().header("allow"), "GET, HEAD");
  EXPECT_EQ(json::parse(client->record().body).at("error").at("code"), "method_not_allowed");
}

TEST_F(DoorTest, HealthIsLiveAndReadinessHasAReason) {
  EXPECT_EQ(request("GET", "/health")->record().status, 200);
  EXPECT_EQ(request("GET", "/ready")->record().status, 200);
  status_.set({false, "no step was committed for 6 s"});
  const auto client = request("GET", "/ready");
  EXPECT_EQ(client->record().status, 503);
  EXPECT_EQ(json::parse(client->record().body).at("error").at("message"), "no step was committed for 6 s");
  EXPECT_EQ(request("GET", "/health")->record().status, 200);
}

// B1
TEST_F(DoorTest, ModelsShowWhatOneRequestMayReallyHave) {
  const auto list = request("GET", "/v1/models");
  EXPECT_EQ(json::parse(list->record().body).at("data").at(0).at("max_model_len"), kContext);
  EXPECT_EQ(json::parse(request("GET", "/v1/models/plain")->record().body).at("id"), "plain");
  EXPECT_EQ(request("GET", "/v1/models/nope")->record().status, 404);
}

// A2: a scrape is answered although every text worker is busy.
TEST_F(DoorTest, MetricsAreServedAsText) {
  const auto client = request("GET", "/metrics");
  ASSERT_TRUE(client->wait_ended());
  EXPECT_EQ(client->record().body, "takt_up 1\n");
}

// F17
TEST_F(DoorTest, DrainingRefusesNewWorkAndFinishesTheRest) {
  const auto running = chat();
  const RequestId id = engine_.wait_submitted().id;
  handler_->begin_drain();
  const auto refused = chat();
  EXPECT_EQ(refused->record().status, 503);
  EXPECT_EQ(refused->record().header("retry-after"), "5");
  EXPECT_EQ(json::parse(refused->record().body).at("error").at("code"), "draining");
  EXPECT_EQ(request("GET", "/ready")->record().status, 503);
  EXPECT_EQ(request("GET", "/health")->record().status, 200);
  EXPECT_FALSE(handler_->wait_until_idle(std::chrono::milliseconds(1)));
  answer(id, "done");
  EXPECT_TRUE(handler_->wait_until_idle(std::chrono::seconds(20)));
  EXPECT_EQ(running->record().status, 200);
}

// F17: what is still open at the end ends with an error, not with silence.
TEST_F(DoorTest, AnswersThatAreOpenAtTheEndGetAnError) {
  const auto whole = chat();
  const auto streamed = chat(R"("stream":true)");
  engine_.wait_submitted(2);
  for (const EngineRequest& request : engine_.submitted()) admit(request.id);
  ASSERT_TRUE(streamed->wait_for([](const auto& record) { return record.streaming; }));
  handler_.reset();
  delivery_.reset();
  EXPECT_EQ(whole->record().status, 503);
  EXPECT_TRUE(streamed->record().aborted);
  EXPECT_NE(streamed->record().body.find(R"("code":"draining")"), std::string::npos);
}

// A18
TEST_F(DoorTest, ThreeHundredSmallCallsAtOnceAreAllTaken) {
  std::vector<std::shared_ptr<RecordingResponder>> clients;
  for (int i = 0; i < 300; ++i) clients.push_back(chat());
  engine_.wait_submitted(300);
  for (const EngineRequest& request : engine_.submitted()) answer(request.id, "ok");
  for (const auto& client : clients) {
    ASSERT_TRUE(client->wait_ended());
    EXPECT_EQ(client->record().status, 200);
  }
}

TEST_F(DoorTest, BodiesThatWaitHaveALimitInBytes) {
  serve::ServeOptions options;
  options.max_queued_body_bytes = 10;
  start({}, options);
  const auto client = chat();
  EXPECT_EQ(client->record().status, 503);
  EXPECT_EQ(json::parse(client->record().body).at("error").at("code"), "server_overloaded");
}

// E7: text workers that are all at work on a prompt keep nobody from the rest of the house.
TEST_F(DoorTest, HealthIsAnsweredWhileEveryTextWorkerIsBusy) {
  serve::ServeOptions options;
  options.text_threads = 2;
  start({}, options);
  template_->hold(true);
  std::vector<std::shared_ptr<RecordingResponder>> waiting;
  for (int i = 0; i < 5; ++i) waiting.push_back(chat());
  ASSERT_TRUE(template_->wait_renderings(2));
  for (const char* path : {"/health", "/ready", "/v1/models", "/metrics"}) {
    const auto client = request("GET", path);
    ASSERT_TRUE(client->wait_ended()) << path;
    EXPECT_EQ(client->record().status, 200) << path;
  }
  for (const auto& client : waiting) EXPECT_FALSE(client->record().ended);
  template_->hold(false);
  engine_.wait_submitted(5);
  for (const EngineRequest& request : engine_.submitted()) answer(request.id, "ok");
  for (const auto& client : waiting) EXPECT_TRUE(client->wait_ended());
}

TEST_F(DoorTest, ABodyWhoseClientHasGoneIsNotWorkedOn) {
  serve::ServeOptions options;
  options.text_threads = 1;
  start({}, options);
  template_->hold(true);
  const auto first = chat();
  ASSERT_TRUE(template_->wait_renderings(1));
  std::vector<std::shared_ptr<RecordingResponder>> gone;
  for (int i = 0; i < 3; ++i) gone.push_back(chat());
  for (const auto& client : gone) client->close();
  const auto last = chat();
  template_->hold(false);
  engine_.wait_submitted(2);
  EXPECT_EQ(template_->renderings(), 2);
  for (const EngineRequest& request : engine_.submitted()) answer(request.id, "ok");
  EXPECT_TRUE(first->wait_ended());
  EXPECT_TRUE(last->wait_ended());
}

TEST_F(DoorTest, EveryAnswerCarriesARequestId) {
  for (const auto& client : {request("GET", "/health"), request("GET", "/nope"), request("PUT", "/health")}) {
    EXPECT_EQ(client->record().header("x-request-id").size(), 16u);
  }
}

}  // namespace
}  // namespace takt::test

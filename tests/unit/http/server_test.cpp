// What a well-behaved client gets.
#include "http/server.h"

#include <gtest/gtest.h>

#include <thread>

#include "unit/http/server_fixture.h"

namespace takt::http {
namespace {

TEST_F(ServerTest, AnswersOverAKeptConnection) {
  answer_by_echo();
  start();
  auto connection = connect();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(connection.send(test::make_request("POST", "/echo", "body")));
    const auto reply = test::receive_reply(connection);
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 200);
    EXPECT_EQ(reply->body, "POST /echo body");
    EXPECT_EQ(reply->header("content-type"), "text/plain");
    EXPECT_EQ(reply->header("connection"), "");
    EXPECT_NE(reply->header("date"), "");
  }
  EXPECT_EQ(server->open_connections(), 1u);
}

TEST_F(ServerTest, ClosesWhenAskedAndAfterHttp10) {
  answer_by_echo();
  start();
  for (const char* bytes : {"GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "GET /a HTTP/1.0\r\n\r\n"}) {
    auto connection = connect();
    connection.send(bytes);
    const auto reply = test::receive_reply(connection);
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->header("connection"), "close");
    EXPECT_EQ(connection.receive(), "");
    EXPECT_EQ(connection.state(), test::Connection::State::kEnded);
  }
  auto kept = connect();
  kept.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(test::receive_reply(kept)->header("connection"), "keep-alive");
  kept.send("GET /b HTTP/1.0\r\n\r\n");
  EXPECT_EQ(test::receive_reply(kept)->body, "GET /b ");
}

TEST_F(ServerTest, AnswersPipelinedRequestsInOrderAndHandsThemOverOneByOne) {
  start();
  auto connection = connect();
  std::string bytes;
  for (int i = 0; i < 20; ++i) bytes += test::make_request("POST", "/" + std::to_string(i), "b" + std::to_string(i));
  connection.send(bytes);
  for (int i = 0; i < 20; ++i) {
    auto call = calls.next();
    ASSERT_TRUE(call);
    EXPECT_EQ(call->request.path, "/" + std::to_string(i));
    EXPECT_EQ(calls.size(), 0u) << "the next one waits for this one's end";
    Response response;
    response.body = call->request.body;
    std::thread([responder = call->responder, response] { responder->send(response); }).join();
    EXPECT_EQ(test::receive_reply(connection)->body, "b" + std::to_string(i));
  }
}

TEST_F(ServerTest, RequestsThatComeInWhileOthersAreAnsweredKeepTheirBytes) {
  start();
  auto connection = connect();
  const auto body = [](int i) {
    return std::string(static_cast<std::size_t>(i * 997 % 30'000), static_cast<char>('a' + i % 26));
  };
  const auto request = [&](int i) { return test::make_request("POST", "/" + std::to_string(i), body(i)); };
  connection.send(request(0) + request(1));
  for (int i = 0; i < 100; ++i) {
    auto call = calls.next();
    ASSERT_TRUE(call);
    EXPECT_EQ(call->request.path, "/" + std::to_string(i));
    EXPECT_EQ(call->request.body, body(i));
    // While this one is answered, a piece of those to come.
    const std::string next = request(i + 2);
    connection.send(next.substr(0, next.size() / 2));
    call->responder->send({});
    ASSERT_TRUE(test::receive_reply(connection));
    connection.send(next.substr(next.size() / 2));
  }
}

TEST_F(ServerTest, PipelinedRequestsAfterAHalfCloseAreAllAnswered) {
  answer_by_echo();
  start();
  auto connection = connect();
  connection.send(test::make_request("GET", "/1") + test::make_request("GET", "/2") + test::make_request("GET", "/3"));
  connection.half_close();
  for (const char* body : {"GET /1 ", "GET /2 ", "GET /3 "}) {
    const auto reply = test::receive_reply(connection);
    ASSERT_TRUE(reply) << body;
    EXPECT_EQ(reply->body, body);
  }
  EXPECT_TRUE(connection.wait_closed());
}

TEST_F(ServerTest, ManyMorePipelinedBytesThanAreReadAheadArriveWhole) {
  options.read_ahead_bytes = 1000;
  start();
  auto connection = connect();
  std::string bytes;
  for (int i = 0; i < 200; ++i)
    bytes += test::make_request("POST", "/", std::string(300, static_cast<char>('a' + i % 26)));
  std::thread sender([&] { connection.send(bytes); });
  for (int i = 0; i < 200; ++i) {
    auto call = calls.next();
    ASSERT_TRUE(call);
    EXPECT_EQ(call->request.body, std::string(300, static_cast<char>('a' + i % 26)));
    call->responder->send({});
  }
  sender.join();
}

TEST_F(ServerTest, StreamsInChunksAndFlushesTheHeadAtOnce) {
  start();
  auto connection = connect();
  connection.send(test::make_request("POST", "/stream", "x"));
  auto call = calls.next();
  ASSERT_TRUE(call);
  call->responder->begin_stream(200, "text/event-stream", {{"X-Queue", "3"}});
  const auto head = test::receive_head(connection);  // nothing was written yet
  ASSERT_TRUE(head);
  EXPECT_EQ(head->header("transfer-encoding"), "chunked");
  EXPECT_EQ(head->header("content-type"), "text/event-stream");
  EXPECT_EQ(head->header("x-queue"), "3");
  test::BodyReader body(connection, *head);
  test::EventReader events(body);
  call->responder->write(": waiting\n\n");
  EXPECT_EQ(events.next()->comment, "waiting");
  call->responder->write("data: \xF0\x9F\x98\x80\n\n");
  EXPECT_EQ(events.next()->data, "\xF0\x9F\x98\x80");
  call->responder->write("");
  call->responder->end_stream();
  EXPECT_FALSE(events.next());
  EXPECT_TRUE(body.complete());
  connection.send(test::make_request("GET", "/again"));
  EXPECT_TRUE(calls.next());
}

TEST_F(ServerTest, StreamsUntilCloseOverHttp10) {
  start();
  auto connection = connect();
  connection.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  auto call = calls.next();
  ASSERT_TRUE(call);
  call->responder->begin_stream(200, "text/plain", {});
  call->responder->write("one ");
  call->responder->write("two");
  call->responder->end_stream();
  const auto reply = test::receive_reply(connection);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->version, "1.0");
  EXPECT_EQ(reply->header("transfer-encoding"), "");
  EXPECT_EQ(reply->header("connection"), "close");
  EXPECT_EQ(reply->body, "one two");
  EXPECT_TRUE(reply->complete);
}

TEST_F(ServerTest, AnAbortedStreamDeliversWhatIsQueuedAndHasNoCleanEnd) {
  start();
  for (const char* version : {"1.1", "1.0"}) {
    auto connection = connect();
    connection.send("GET / HTTP/" + std::string(version) + "\r\nHost: h\r\n\r\n");
    auto call = calls.next();
    ASSERT_TRUE(call);
    call->responder->begin_stream(200, "text/plain", {});
    call->responder->write("data: error\n\n");
    const auto head = test::receive_head(connection);
    ASSERT_TRUE(head);
    test::BodyReader body(connection, *head);
    EXPECT_EQ(body.next(), "data: error\n\n");
    call->responder->abort();
    EXPECT_EQ(body.next(), "");
    EXPECT_FALSE(body.complete()) << version;
  }
}

TEST_F(ServerTest, HeadGetsTheHeadersAloneAndTheConnectionGoesOn) {
  start();
  auto connection = connect();
  connection.send(test::make_request("HEAD", "/a"));
  auto call = calls.next();
  ASSERT_TRUE(call);
  Response response;
  response.body = "12345";
  call->responder->send(response);
  const auto reply = test::receive_reply(connection, true);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->header("content-length"), "5");
  connection.send(test::make_request("HEAD", "/b"));
  call = calls.next();
  ASSERT_TRUE(call);
  call->responder->begin_stream(200, "text/plain", {});
  call->responder->write("not for you");
  call->responder->end_stream();
  ASSERT_TRUE(test::receive_reply(connection, true));
  connection.send(test::make_request("GET", "/c"));
  ASSERT_TRUE(call = calls.next());
  response.status = 204;
  call->responder->send(response);
  const auto last = test::receive_reply(connection);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->status, 204);
  EXPECT_EQ(last->header("content-length"), "");
}

TEST_F(ServerTest, TellsAClientThatAsksToGoOnWithItsBody) {
  answer_by_echo();
  start();
  auto connection = connect();
  connection.send("POST /p HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(connection.receive_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  connection.send("body");
  EXPECT_EQ(test::receive_reply(connection)->body, "POST /p body");
}

TEST_F(ServerTest, RefusesATooLongBodyBeforeItIsSent) {
  options.request.body_bytes = 10;
  start();
  const auto reply = reply_to("POST /p HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n");
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(reply.interim, 0);
}

// Who may not call at all hears that, and not how long a body may be.
TEST_F(ServerTest, AHandlerThatRefusesTheHeadComesBeforeTheLimitOfTheBody) {
  options.request.body_bytes = 10;
  handler.judge = [](const Request& head) -> std::optional<Response> {
    if (head.path != "/closed") return std::nullopt;
    Response refusal;
    refusal.status = 401;
    return refusal;
  };
  start();
  EXPECT_EQ(reply_to("POST /closed HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n").status, 401);
  EXPECT_EQ(reply_to("POST /open HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n").status, 413);
}

TEST_F(ServerTest, AnswersBrowsersOfAllowedOriginsAndRefusesOthers) {
  answer_by_echo();
  start();
  auto reply = test::request(server->port(), "OPTIONS", "/v1/chat/completions", "",
                             "Origin: http://localhost:3000\r\nAccess-Control-Request-Method: POST\r\n"
                             "Access-Control-Request-Headers: authorization, content-type\r\n");
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 204);
  EXPECT_EQ(reply->header("access-control-allow-origin"), "http://localhost:3000");
  EXPECT_EQ(reply->header("access-control-allow-headers"), "authorization, content-type");
  EXPECT_NE(reply->header("access-control-allow-methods").find("POST"), std::string::npos);
  reply = test::request(server->port(), "POST", "/x", "b", "Origin: http://localhost:3000\r\n");
  EXPECT_EQ(reply->body, "POST /x b");
  EXPECT_EQ(reply->header("access-control-allow-origin"), "http://localhost:3000");
  EXPECT_EQ(reply->header("vary"), "Origin");
  reply = test::request(server->port(), "POST", "/x", "b", "Origin: https://evil.example\r\n");
  EXPECT_EQ(reply->status, 403);
  EXPECT_EQ(reply->header("access-control-allow-origin"), "");
  reply = test::request(server->port(), "OPTIONS", "/x");
  EXPECT_EQ(reply->body, "OPTIONS /x ") << "not asked by a browser: the handler's";
}

TEST_F(ServerTest, TellsFactsAboutEachAnswerButNoQuery) {
  answer_by_echo();
  start();
  ASSERT_TRUE(test::request(server->port(), "POST", "/p?api_key=secret", "body"));
  const auto record = accesses.next();
  ASSERT_TRUE(record);
  EXPECT_EQ(record->method, "POST");
  EXPECT_EQ(record->path, "/p");
  EXPECT_EQ(record->peer, "127.0.0.1");
  EXPECT_EQ(record->status, 200);
  EXPECT_GT(record->bytes_sent, 50u);
  EXPECT_GT(record->duration.count(), 0);
  EXPECT_EQ(record->outcome, AccessRecord::Outcome::kCompleted);
  reply_to("garbage\r\n\r\n");
  EXPECT_EQ(accesses.next()->outcome, AccessRecord::Outcome::kRejected);
}

TEST_F(ServerTest, AHandlerThatThrowsOrDropsTheRequestAnswers500) {
  handler.function = [](Request request, std::shared_ptr<Responder>) {
    if (request.path == "/throw") throw std::runtime_error("inside");
  };
  start();
  EXPECT_EQ(test::request(server->port(), "GET", "/throw")->status, 500);
  EXPECT_EQ(test::request(server->port(), "GET", "/drop")->status, 500);
}

TEST_F(ServerTest, DeliversABigAnswerToAReaderThatTakesItInSmallSteps) {
  start();
  auto connection = connect(4096);
  connection.send(test::make_request("GET", "/big"));
  auto call = calls.next();
  ASSERT_TRUE(call);
  Response response;
  response.body = std::string(5'000'000, 'x');
  call->responder->send(response);
  const auto reply = test::receive_reply(connection);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body.size(), 5'000'000u);
}

TEST_F(ServerTest, AResponderThatOutlivesTheServerDoesNothing) {
  start();
  auto connection = connect();
  connection.send(test::make_request("GET", "/"));
  auto call = calls.next();
  ASSERT_TRUE(call);
  Happened<Responder::Closed> closed;
  call->responder->on_closed([&](Responder::Closed reason) { closed.push(reason); });
  server.reset();
  EXPECT_EQ(closed.next(), Responder::Closed::kClientGone);
  call->responder->begin_stream(200, "a", {});
  call->responder->write("b");
  call->responder->end_stream();
  EXPECT_EQ(call->responder->queued_bytes(), 0u);
}

TEST_F(ServerTest, SaysClearlyWhyItCannotListen) {
  start();
  ServerOptions taken = options;
  taken.port = server->port();
  const auto second = Server::start(taken, hooks, handler);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kIo);
  EXPECT_EQ(second.error().field, "port");
  EXPECT_NE(second.error().message.find(std::to_string(taken.port)), std::string::npos);
  EXPECT_NE(second.error().message.find("another program uses this port"), std::string::npos);
  ServerOptions foreign = options;
  foreign.host = "192.0.2.1";
  const auto third = Server::start(foreign, hooks, handler);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().field, "host");
  foreign.host = "no such host";
  EXPECT_FALSE(Server::start(foreign, hooks, handler));
}

}  // namespace
}  // namespace takt::http

// Requests that are judged by their heads: what nobody may send is not read (field report F6).
#include <gtest/gtest.h>

#include <thread>

#include "unit/http/server_fixture.h"

namespace takt::http {
namespace {

constexpr const char* kSized = "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 30000000\r\n";
constexpr const char* kChunked = "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n";

class RefusalTest : public ServerTest {
 protected:
  void refuse_everything() {
    handler.judge = [this](const Request& head) {
      heads.push(head);
      Response response;
      response.status = 401;
      response.body = "no key";
      return std::optional<Response>(response);
    };
  }

  Happened<Request> heads;
};

TEST_F(RefusalTest, IsAnsweredBeforeABodyComesAndTheConnectionCloses) {
  refuse_everything();
  start();
  for (const char* head : {kSized, kChunked}) {
    for (const char* expect : {"", "Expect: 100-continue\r\n"}) {
      auto connection = connect();
      connection.send(head + std::string(expect) + "\r\n");
      const auto reply = test::receive_reply(connection);
      ASSERT_TRUE(reply) << head << expect;
      EXPECT_EQ(reply->status, 401);
      EXPECT_EQ(reply->interim, 0) << "nobody was asked for a body";
      EXPECT_EQ(reply->header("connection"), "close");
      EXPECT_EQ(reply->body, "no key");
      EXPECT_TRUE(connection.wait_closed());
      const auto asked = heads.next();
      ASSERT_TRUE(asked);
      EXPECT_EQ(asked->path, "/p");
      EXPECT_EQ(asked->peer, "127.0.0.1");
      EXPECT_EQ(asked->body, "");
      EXPECT_EQ(accesses.next()->status, 401);
    }
  }
  EXPECT_EQ(calls.size(), 0u);
}

TEST_F(RefusalTest, ItsSenderStillReadsTheAnswerAfterSendingTheWholeBody) {
  refuse_everything();
  start();
  auto connection = connect();
  connection.send(kSized + std::string("\r\n") + std::string(30'000'000, 'b'));
  EXPECT_EQ(test::receive_reply(connection)->status, 401);
}

TEST_F(RefusalTest, ASenderThatNeverEndsIsDrainedForABoundedTime) {
  options.timeouts.linger = std::chrono::milliseconds(50);
  refuse_everything();
  start();
  auto connection = connect();
  connection.send(kChunked + std::string("\r\n"));
  ASSERT_TRUE(test::receive_reply(connection));
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (connection.send("1\r\nx\r\n") && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  EXPECT_LT(std::chrono::steady_clock::now(), give_up);
}

TEST_F(RefusalTest, RequestsWithoutABodyGoToTheHandlerAlone) {
  refuse_everything();
  answer_by_echo();
  start();
  auto connection = connect();
  for (const char* length : {"", "Content-Length: 0\r\n"}) {
    connection.send("POST /a HTTP/1.1\r\nHost: h\r\n" + std::string(length) + "\r\n");
    EXPECT_EQ(test::receive_reply(connection)->body, "POST /a ");
  }
  EXPECT_EQ(heads.size(), 0u);
}

TEST_F(RefusalTest, AHeadThatIsLetInHasItsBodyReadAndItsConnectionKept) {
  handler.judge = [this](const Request& head) {
    heads.push(head);
    return std::optional<Response>();
  };
  answer_by_echo();
  start();
  auto connection = connect();
  connection.send(test::make_request("POST", "/1", "one") + test::make_request("POST", "/2", "two"));
  EXPECT_EQ(test::receive_reply(connection)->body, "POST /1 one");
  EXPECT_EQ(test::receive_reply(connection)->body, "POST /2 two");
  EXPECT_EQ(heads.size(), 2u);
}

TEST_F(RefusalTest, AHandlerThatThrowsOverAHeadAnswers500) {
  handler.judge = [](const Request&) -> std::optional<Response> { throw std::runtime_error("inside"); };
  start();
  EXPECT_EQ(reply_to(kSized + std::string("\r\n")).status, 500);
}

TEST_F(RefusalTest, ABodyOfAForeignPageIsNotAskedFor) {
  start();
  const auto reply = reply_to(kSized + std::string("Expect: 100-continue\r\nOrigin: https://evil.example\r\n\r\n"));
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(reply.interim, 0);
}

TEST_F(RefusalTest, ACompressedBodyIsRefusedByItsCoding) {
  answer_by_echo();
  start();
  const auto reply = reply_to(kSized + std::string("Expect: 100-continue\r\nContent-Encoding: gzip\r\n\r\n"));
  EXPECT_EQ(reply.status, 415);
  EXPECT_EQ(reply.interim, 0);
  EXPECT_NE(reply.body.find("Content-Encoding 'gzip'"), std::string::npos) << reply.body;
  EXPECT_EQ(accesses.next()->path, "/p");
  const auto plain = test::request(server->port(), "POST", "/p", "body", "Content-Encoding: Identity\r\n");
  EXPECT_EQ(plain->body, "POST /p body");
}

}  // namespace
}  // namespace takt::http

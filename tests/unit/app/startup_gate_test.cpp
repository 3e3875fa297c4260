#include "startup_gate.h"

#include <gtest/gtest.h>

#include "start_report.h"

namespace takt::app {
namespace {

class RecordingResponder final : public http::Responder {
 public:
  void send(http::Response response) override { sent = std::move(response); }
  void begin_stream(int, std::string, http::Headers) override {}
  void write(std::string) override {}
  void end_stream() override {}
  void abort() override {}
  void on_closed(std::function<void(Closed)>) override {}
  std::size_t queued_bytes() const override { return 0; }

  http::Response sent;
};

class TeapotHandler final : public http::Handler {
 public:
  void handle(http::Request, std::shared_ptr<http::Responder> responder) override {
    http::Response response;
    response.status = 418;
    responder->send(std::move(response));
  }
};

http::Response ask(StartupGate& gate, std::string method, std::string path) {
  const auto responder = std::make_shared<RecordingResponder>();
  http::Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  gate.handle(std::move(request), responder);
  return responder->sent;
}

// E9: while a model loads the process is alive, not ready, and says how far it is.
TEST(StartupGate, IsAliveAndNotReadyWithTheReasonWhileModelsLoad) {
  StartupGate gate;
  gate.set_progress("loading smollm2: 45 %");
  EXPECT_EQ(ask(gate, "GET", "/health").status, 200);
  const auto ready = ask(gate, "GET", "/ready");
  EXPECT_EQ(ready.status, 503);
  EXPECT_NE(ready.body.find("loading smollm2: 45 %"), std::string::npos);
  EXPECT_EQ(ask(gate, "POST", "/v1/chat/completions").status, 503);
}

TEST(StartupGate, OnceOpenTheRealHandlerAnswersEverything) {
  StartupGate gate;
  TeapotHandler handler;
  gate.open(handler);
  EXPECT_EQ(ask(gate, "GET", "/health").status, 418);
  EXPECT_EQ(ask(gate, "POST", "/v1/chat/completions").status, 418);
}

TEST(LoadReport, TellsBytesAndNeverMoreThanAllOfThem) {
  LoadReport report("model", StartReport(stderr));
  EXPECT_EQ(report.text(), "loading model");
  EXPECT_TRUE(report.advance(10'000'000, 100'000'000));
  EXPECT_EQ(report.text(), "loading model: 10 % (10 MB of 100 MB)");
  EXPECT_FALSE(report.advance(10'000'001, 100'000'000));
  EXPECT_TRUE(report.advance(130'000'000, 100'000'000));
  EXPECT_EQ(report.text(), "loading model: 100 % (130 MB of 130 MB)");
}

}  // namespace
}  // namespace takt::app

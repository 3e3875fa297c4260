// What followers hear of answers, in which order.
#include <condition_variable>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "unit/serve/serve_fixture.h"

namespace takt::test {
namespace {

class HeardEvents final : public EventSink {
 public:
  void publish(const std::vector<Event>& events) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      for (const Event& event : events) {
        if (const auto* accepted = std::get_if<Accepted>(&event.what)) add("accepted ", accepted->request);
        if (const auto* delivered = std::get_if<Delivered>(&event.what)) add("delivered ", delivered->request);
        if (const auto* closed = std::get_if<Closed>(&event.what)) add("closed ", closed->request);
      }
    }
    changed_.notify_all();
  }
  std::vector<std::string> wait_heard(std::size_t count) const {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return heard_.size() >= count; });
    return heard_;
  }

 private:
  void add(const char* what, RequestId request) { heard_.push_back(what + api::request_name(request)); }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<std::string> heard_;
};

class DeliveryTest : public ServeFixture {
 protected:
  void SetUp() override {
    ServeFixture::SetUp();
    delivery_->add_follower(heard_);
  }
  void TearDown() override {
    handler_.reset();
    delivery_.reset();
  }

  HeardEvents heard_;
};

// The engine accepts between two steps; whoever leaves meanwhile is still heard of in order, or he would be taken for
// one that stays for ever.
TEST_F(DeliveryTest, AnAnswerThatIsOverBeforeItIsAcceptedIsDeliveredAfterwards) {
  const auto client = chat();
  const RequestId id = engine_.wait_submitted().id;
  delivery_->abandon(id, CancelCause::kClientGone);
  ASSERT_TRUE(delivery_->wait_until_idle(std::chrono::seconds(20)));
  accept(id);
  close(id);
  const std::string name = api::request_name(id);
  EXPECT_EQ(heard_.wait_heard(3),
            (std::vector<std::string>{"accepted " + name, "delivered " + name, "closed " + name}));
}

TEST_F(DeliveryTest, PartsThatTheEngineRefusedAreHeardOfByNobody) {
  engine_.accept_only(1, {ErrorCode::kUnavailable, "full", "queue_full"});
  const auto client = complete(R"("prompt":["a","b","c"])");
  const RequestId first = engine_.wait_submitted().id;
  ASSERT_TRUE(client->wait_ended());
  ASSERT_TRUE(delivery_->wait_until_idle(std::chrono::seconds(20)));
  accept(first);
  close(first);
  const std::string name = api::request_name(first);
  EXPECT_EQ(heard_.wait_heard(3),
            (std::vector<std::string>{"accepted " + name, "delivered " + name, "closed " + name}));
}

}  // namespace
}  // namespace takt::test

#include "contract/executor/executor_contract.h"
#include "exec/fake/fake_executor.h"

namespace takt::testing {
namespace {

// Virtual time of its own per executor.
class ClockedFake final : public Executor {
 public:
  explicit ClockedFake(const FakeScript& script) : inner_(make_fake_executor(script, clock_, advance(clock_))) {}
  const ExecutorCapabilities& capabilities() const override { return inner_->capabilities(); }
  Status open(SequenceSpec spec) override { return inner_->open(std::move(spec)); }
  void close(SequenceId sequence) noexcept override { inner_->close(sequence); }
  Result<StepTicket> submit(const BoundStep& step) override { return inner_->submit(step); }
  Result<StepResult> collect(StepTicket ticket) override { return inner_->collect(ticket); }
  Status read_block(GroupId group, BlockId block, std::span<std::byte> bytes) const override {
    return inner_->read_block(group, block, bytes);
  }
  Status write_block(GroupId group, BlockId block, std::span<const std::byte> bytes) override {
    return inner_->write_block(group, block, bytes);
  }

 private:
  ManualClock clock_;
  std::unique_ptr<Executor> inner_;
};

ExecutorUnderTest fake(const char* name, std::uint32_t groups, std::uint32_t bytes_per_token) {
  return {name, [=] {
            FakeScript script;
            script.step_cost = std::chrono::microseconds(10);
            script.groups = groups;
            script.bytes_per_token = bytes_per_token;
            return std::make_unique<ClockedFake>(script);
          }};
}

INSTANTIATE_TEST_SUITE_P(Fake, ExecutorContract,
                         ::testing::Values(fake("fake", 1, 1), fake("fake_with_two_kv_groups", 2, 1),
                                           fake("fake_with_long_tokens", 1, 4)),
                         executor_name);

}  // namespace
}  // namespace takt::testing

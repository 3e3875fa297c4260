#include "kv/snapshot.h"

#include <cstddef>

namespace takt {

namespace {

class RuleCheck {
 public:
  explicit RuleCheck(const KvSnapshot& snapshot) : snapshot_(snapshot) {}

  std::vector<std::string> run() {
    for (std::size_t g = 0; g < snapshot_.groups.size(); ++g) {
      const KvGroupSnapshot& group = snapshot_.groups[g];
      std::vector<std::uint32_t> named(group.blocks.size(), 0);
      for (const TableSnapshot& table : snapshot_.tables) check_table(g, table, named);
      check_owners(g, named);
    }
    return std::move(broken_);
  }

 private:
  void fail(std::size_t group, const std::string& what) {
    broken_.push_back("group " + std::to_string(group) + ": " + what);
  }
  // The check runs after every step over every block: words are made for broken rules alone.
  void fail_block(std::size_t group, std::size_t block, const char* what) {
    fail(group, "block " + std::to_string(block) + what);
  }
  void fail_table(std::size_t group, const TableSnapshot& table, const std::string& what) {
    fail(group, "sequence " + std::to_string(table.sequence.value) + what);
  }

  void check_table(std::size_t g, const TableSnapshot& table, std::vector<std::uint32_t>& named) {
    const KvGroupSnapshot& group = snapshot_.groups[g];
    const std::vector<BlockId>& blocks = table.blocks[g];
    if (std::uint64_t{table.computed} > std::uint64_t{group.block_tokens} * blocks.size()) {
      fail_table(g, table, " has more computed tokens than its table reaches");
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].value >= group.blocks.size()) {
        fail_table(g, table, " names a block that does not exist");
        continue;
      }
      ++named[blocks[i].value];
      const BlockSnapshot& block = group.blocks[blocks[i].value];
      if (!block.indexed) continue;
      const bool follows = i == 0 ? !block.has_parent : block.has_parent && block.parent == blocks[i - 1];
      if (!follows)
        fail_table(g, table, " holds indexed block " + std::to_string(blocks[i].value) + " not behind its parent");
    }
  }

  void check_owners(std::size_t g, const std::vector<std::uint32_t>& named) {
    const KvGroupSnapshot& group = snapshot_.groups[g];
    std::uint32_t free = 0;
    std::uint32_t cached = 0;
    for (std::size_t i = 0; i < group.blocks.size(); ++i) {
      const BlockSnapshot& block = group.blocks[i];
      if (block.references != named[i]) fail_block(g, i, ": references differ from the tables that name it");
      switch (block.owner) {
        case BlockOwner::kFree:
          ++free;
          if (block.indexed) fail_block(g, i, " is free and indexed");
          break;
        case BlockOwner::kReserved:
          fail_block(g, i, " is reserved between steps");
          break;
        case BlockOwner::kCommitted:
          if (named[i] == 0) fail_block(g, i, " is committed and in no table");
          break;
        case BlockOwner::kCached:
          ++cached;
          if (!block.indexed) fail_block(g, i, " is cached and not indexed");
          break;
      }
      if (block.owner != BlockOwner::kCommitted && named[i] != 0) fail_block(g, i, " is in a table and not committed");
    }
    if (free != group.free_count) fail(g, "the free count is wrong");
    if (cached != group.cached_count) fail(g, "the cached count is wrong");
  }

  const KvSnapshot& snapshot_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> broken_kv_rules(const KvSnapshot& snapshot) {
  return RuleCheck(snapshot).run();
}

}  // namespace takt

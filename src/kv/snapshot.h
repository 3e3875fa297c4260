// The whole state of KV bookkeeping as plain data, and the rules it must keep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.h"
#include "kv/block_pool.h"

namespace takt {

struct BlockSnapshot {
  BlockOwner owner = BlockOwner::kFree;
  std::uint32_t references = 0;
  bool indexed = false;
  bool has_parent = false;
  BlockId parent;
};

struct TableSnapshot {
  SequenceId sequence;
  std::uint32_t computed = 0;
  std::vector<std::vector<BlockId>> blocks;  // per group
};

struct KvGroupSnapshot {
  std::uint32_t block_tokens = 0;
  std::uint32_t free_count = 0;
  std::uint32_t cached_count = 0;
  std::vector<BlockSnapshot> blocks;
};

struct KvSnapshot {
  std::vector<KvGroupSnapshot> groups;
  std::vector<TableSnapshot> tables;
};

// Every broken rule in words; empty when all hold. Between steps: every block has exactly one owner and the counts
// agree; references equal the tables that name the block; nothing is reserved; cached blocks are indexed and in no
// table; tables reach what is computed; an indexed block in a table follows its parent there.
std::vector<std::string> broken_kv_rules(const KvSnapshot& snapshot);

}  // namespace takt

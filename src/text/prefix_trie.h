// Byte trie over a fixed set of strings: finds every entry that is a prefix of a text. Immutable after build.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace takt {

class PrefixTrie {
 public:
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;
  static constexpr Node kNone = 0;  // the root is nobody's child
  static constexpr std::int32_t kNoValue = -1;

  PrefixTrie() : nodes_(1) {}
  // Empty keys are left out; of equal keys the first given counts. Values are >= 0.
  explicit PrefixTrie(std::vector<std::pair<std::string_view, std::int32_t>> entries);

  Node step(Node from, std::uint8_t byte) const;
  std::int32_t value(Node node) const { return nodes_[node].value; }

 private:
  struct Slot {
    Node first_child = 0;  // children are neighbours, by rising label
    std::uint16_t child_count = 0;
    std::uint8_t label = 0;
    std::int32_t value = kNoValue;
  };

  std::vector<Slot> nodes_;
  std::array<Node, 256> from_root_{};
};

}  // namespace takt

#include "text/prefix_trie.h"

#include <algorithm>

namespace takt {

PrefixTrie::PrefixTrie(std::vector<std::pair<std::string_view, std::int32_t>> entries) : nodes_(1) {
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });

  struct Range {
    Node node;
    std::size_t begin, end, depth;
  };
  std::vector<Range> open{{kRoot, 0, entries.size(), 0}};
  for (std::size_t next = 0; next < open.size(); ++next) {
    const Range range = open[next];
    std::size_t i = range.begin;
    // Sorted, so the key that ends here comes first.
    for (; i < range.end && entries[i].first.size() == range.depth; ++i) {
      if (range.depth > 0 && nodes_[range.node].value == kNoValue) nodes_[range.node].value = entries[i].second;
    }
    nodes_[range.node].first_child = static_cast<Node>(nodes_.size());
    while (i < range.end) {
      const auto label = static_cast<std::uint8_t>(entries[i].first[range.depth]);
      const std::size_t begin = i;
      while (i < range.end && static_cast<std::uint8_t>(entries[i].first[range.depth]) == label) ++i;
      const auto child = static_cast<Node>(nodes_.size());
      nodes_.emplace_back();
      nodes_.back().label = label;
      ++nodes_[range.node].child_count;
      open.push_back({child, begin, i, range.depth + 1});
    }
  }
  for (std::uint16_t c = 0; c < nodes_[kRoot].child_count; ++c) {
    const Node child = nodes_[kRoot].first_child + c;
    from_root_[nodes_[child].label] = child;
  }
}

PrefixTrie::Node PrefixTrie::step(Node from, std::uint8_t byte) const {
  if (from == kRoot) return from_root_[byte];
  const Slot& slot = nodes_[from];
  const auto begin = nodes_.begin() + slot.first_child;
  const auto end = begin + slot.child_count;
  const auto found = std::lower_bound(begin, end, byte, [](const Slot& a, std::uint8_t b) { return a.label < b; });
  if (found == end || found->label != byte) return kNone;
  return static_cast<Node>(found - nodes_.begin());
}

}  // namespace takt

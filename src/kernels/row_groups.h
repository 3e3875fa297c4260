// Rows that share one pass over weights, keys or values.
#pragma once

#include <cstddef>
#include <type_traits>

namespace takt {

inline constexpr std::size_t kRowsPerPass = 4;  // as many sums as the registers of the narrowest level hold

// Calls body(size, row) for groups of at most kRowsPerPass of the rows from `first` to `end`, size an
// integral_constant. The groups are of about the same size: one of one or two rows has too few independent sums to keep
// the multipliers busy. How rows are grouped changes no sum.
template <typename Body>
void in_even_groups(std::size_t first, std::size_t end, const Body& body) {
  while (first < end) {
    const std::size_t groups = (end - first + kRowsPerPass - 1) / kRowsPerPass;
    const std::size_t size = (end - first + groups - 1) / groups;
    switch (size) {
      case 1:
        body(std::integral_constant<int, 1>{}, first);
        break;
      case 2:
        body(std::integral_constant<int, 2>{}, first);
        break;
      case 3:
        body(std::integral_constant<int, 3>{}, first);
        break;
      default:
        body(std::integral_constant<int, 4>{}, first);
        break;
    }
    first += size;
  }
}

}  // namespace takt

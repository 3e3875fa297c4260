// An integer that cannot be mistaken for another kind of integer.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace takt {

template <typename Tag, typename Rep = std::uint64_t>
struct StrongId {
  using rep = Rep;
  Rep value = 0;

  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep v) : value(v) {}
  constexpr auto operator<=>(const StrongId&) const = default;  // NOLINT(modernize-use-nullptr): none is written
};

}  // namespace takt

template <typename Tag, typename Rep>
struct std::hash<takt::StrongId<Tag, Rep>> {
  std::size_t operator()(const takt::StrongId<Tag, Rep>& id) const noexcept { return std::hash<Rep>{}(id.value); }
};

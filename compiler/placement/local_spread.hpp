/// \file How ranks differ in the values of local regions, which have no layout.
#pragma once
#include <string>
#include <vector>

#include "compiler/graph/graph.hpp"

namespace baleen {

/// Follows local values from `to_local` on, as a type checker does: per mesh axis, whether its ranks have one value,
/// different ones, or terms of a sum that is still to be made, and whether one coordinate alone has it. So a layout
/// that a `from_local` states is no assertion alone. Where pieces went round by `permute`, or terms by an exchange,
/// what ranks made of them is not known, and is believed.
class LocalSpread {
 public:
  explicit LocalSpread(const Graph& graph) : graph_(graph), of_(graph.value_count()), held_(graph.value_count()) {}

  /// An op that opens a region or stands in one, after those that it reads.
  void visit(const Op& op);
  /// What is wrong with the layout that a `from_local` states; empty: nothing that can be seen.
  std::string contradiction(const Op& from_local) const;
  /// Why the ranks that a collective of a region needs do not all take part in it; empty: they do, as far as can be
  /// seen.
  std::string unmet(const Op& collective) const;

 private:
  /// In this order: what is made of two values is as the later one says.
  enum class Spread : unsigned char {
    whole,    ///< all of the value that the region was opened on, only moved since
    alike,    ///< one value
    differs,  ///< different ones
    maxima,   ///< what the maximum is still to be taken of, only moved since
    terms,    ///< terms of a sum, only moved since
    unknown,
  };

  /// The coordinate that alone takes part in a region, since what it opens lies there.
  static constexpr int kAll = -1, kNobody = -2;  ///< each does; none does, since the region opens what lies at several

  Spread at(ValueId value, std::size_t axis) const;
  int held_at(const Op& op, std::size_t axis) const;
  std::string unlike_coordinates(const Op& from_local, std::size_t axis) const;
  Spread opened(const Op& to_local, std::size_t axis) const;
  Spread computed(const Op& op, std::size_t axis) const;
  static Spread after_collective(const Op& op, Spread before);

  const Graph& graph_;
  std::vector<std::vector<Spread>> of_;  ///< by value, then by axis; empty: no local value, and each rank has all of it
  std::vector<std::vector<int>> held_;   ///< by value, then by axis; empty: kAll along each
};

}  // namespace baleen

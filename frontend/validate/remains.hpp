/// \file What a process holds: to find what a plugin leaves behind.
#pragma once
#include <cstddef>
#include <set>
#include <string>

namespace baleen::validate {

struct Remains {
  std::size_t descriptors = 0, threads = 0;
  std::set<std::string> files;  ///< paths of what is open or mapped, and still there
  std::set<std::size_t> children;

  static Remains now();
  /// What there is now and was not `before`; of files also those that were seen `within` and still have their name.
  /// "" where nothing is.
  std::string beyond(const Remains& before, const Remains& within) const;
};

}  // namespace baleen::validate

/// \file Lists of cases for INSTANTIATE_TEST_SUITE_P.
#pragma once
#include <initializer_list>
#include <vector>

namespace baleen::test {

/// The cases of all lists, in their order.
template <class Case>
std::vector<Case> concatenated(std::initializer_list<std::vector<Case>> lists) {
  std::vector<Case> all;
  for (const std::vector<Case>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace baleen::test

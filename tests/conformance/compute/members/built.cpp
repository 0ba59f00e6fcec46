/// \file Every compute plugin of the tree.
#include "conformance/compute/members.hpp"
#include "support/plugin_under_test.hpp"

baleen::conformance::Members baleen::conformance::members() {
  Members all;
  for (const std::string& name : test::built_members("compute"))
    all.plugins.push_back(test::built_plugin("compute", name));
  return all;
}

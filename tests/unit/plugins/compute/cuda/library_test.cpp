/// \file Vendor libraries that are not there.
#include "library.hpp"

#include <gtest/gtest.h>

namespace baleen::cuda {
namespace {

TEST(Library, ThatIsMissingIsNamedWithTheFirstPlaceWhereItWasSought) {
  const auto library = Library::open({"/no/such/folder"}, "libno_such_thing.so.7");
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, BALEEN_NOT_FOUND);
  EXPECT_NE(library.error().message.find("/no/such/folder/libno_such_thing.so.7"), std::string::npos);
}
TEST(Library, IsFoundWhereTheSystemLooks) {
  const auto library = Library::open({"/no/such/folder"}, "libc.so.6");
  ASSERT_TRUE(library);
  EXPECT_NE(library->symbol("strlen"), nullptr);
  EXPECT_EQ(library->symbol("no_such_function_of_libc"), nullptr);
}

}  // namespace
}  // namespace baleen::cuda

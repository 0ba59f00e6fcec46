/// \file Paths that the user typed are relative to where they were typed; words in place of paths stay.
#include "frontend/engine/typed_paths.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace baleen::app {
namespace {

Descriptor with_path() {
  Descriptor descriptor;
  Option option;
  option.name = "tokens";
  option.type = BALEEN_OPTION_STRING;
  option.flags = BALEEN_OPTION_PATH;
  option.choices = {"bytes"};
  descriptor.options.push_back(option);
  return descriptor;
}

std::string anchored(const std::string& value, const std::vector<std::string>& arguments) {
  UserValues values;
  values["tokens"] = {value, "here"};
  anchor_typed_paths(values, with_path(), arguments);
  return std::get<std::string>(values["tokens"].data);
}

TEST(TypedPaths, AreRelativeToTheWorkingFolder) {
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(anchored("a/b.json", {"--tokens", "a/b.json"}), here + "/a/b.json");
  EXPECT_EQ(anchored("a/b.json", {"--tokens=a/b.json"}), here + "/a/b.json");
  EXPECT_EQ(anchored("a/b.json", {}), "a/b.json") << "written in the script";
}

TEST(TypedPaths, KeepWords) { EXPECT_EQ(anchored("bytes", {"--tokens", "bytes"}), "bytes"); }

}  // namespace
}  // namespace baleen::app

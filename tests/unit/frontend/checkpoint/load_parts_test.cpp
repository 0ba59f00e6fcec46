/// \file Renames and patterns about what is loaded, without files.
#include "frontend/checkpoint/load_parts.hpp"

#include <gtest/gtest.h>

namespace baleen::test {
namespace {

std::string renamed_by(const std::string& rule, const std::string& name) {
  const auto rename = parse_rename(rule);
  EXPECT_TRUE(rename) << rule;
  return rename ? renamed(*rename, name).value_or("none") : "";
}

TEST(LoadParts, ARenameFillsItsStarsFromTheSameOnes) {
  EXPECT_EQ(renamed_by("a=b", "a"), "b");
  EXPECT_EQ(renamed_by("a=b", "aa"), "none");
  EXPECT_EQ(renamed_by("encoder.*=body.*", "encoder.0.weight"), "body.0.weight");
  EXPECT_EQ(renamed_by("*.w=*.weight", "layers.w.w"), "layers.w.weight");
  EXPECT_EQ(renamed_by("h.*.mlp.*=blocks.*.feed.*", "h.11.mlp.up.bias"), "blocks.11.feed.up.bias");
  EXPECT_EQ(renamed_by("h.?.*=h.x.*", "h.3.bias"), "h.x.bias");
  EXPECT_EQ(renamed_by("*=model.*", "w"), "model.w");
  EXPECT_EQ(renamed_by("model.*=*", "model.w"), "w");
  EXPECT_EQ(renamed_by("model.*=*", "model."), "");
  EXPECT_EQ(renamed_by("**x=*", "aax"), "");
  EXPECT_EQ(renamed_by("a*b*=first.*", "a1b2b3"), "first.1");
  EXPECT_EQ(renamed_by("a=b=c", "a"), "b=c");
}

TEST(LoadParts, ARenameHasTwoSidesAndNoMoreStarsOnTheSecond) {
  for (const std::string rule : {"", "a", "=a", "a=", "a=*", "a*=**"}) EXPECT_FALSE(parse_rename(rule)) << rule;
}

TEST(LoadParts, TheFirstRenameThatFitsCounts) {
  LoadParts parts;
  parts.renames = {{"a.*", "b.*"}, {"a.x", "c"}, {"b.*", "d.*"}};
  EXPECT_EQ(parts.name_of("a.x"), "b.x");
  EXPECT_EQ(parts.name_of("b.x"), "d.x");
  EXPECT_EQ(parts.name_of("e"), "e");
}

TEST(LoadParts, TakeAllUnlessTheySayOtherwise) {
  LoadParts parts;
  EXPECT_TRUE(parts.says_nothing() && parts.takes("a") && parts.text().empty());
  parts.only = {"a*", "b"};
  parts.except = {"ab"};
  EXPECT_TRUE(parts.takes("a") && parts.takes("b") && !parts.takes("ab") && !parts.takes("c"));
  EXPECT_EQ(parts.text(), "--load-only a* --load-only b --load-except ab");
}

TEST(LoadParts, FewNamesAreListedAndManyCounted) {
  EXPECT_EQ(listed_names({"a"}), "`a`");
  EXPECT_EQ(listed_names({"a", "b", "c", "d", "e", "f"}), "`a`, `b`, `c`, `d` and 2 more");
}

}  // namespace
}  // namespace baleen::test

/// \file An option is read by the method of its type; any other throws and names the right one.
#include "baleen/settings.hpp"

#include <gtest/gtest.h>

#include "support/plugin_under_test.hpp"

namespace baleen {
namespace {

BALEEN_DESCRIPTOR("optimizer", "typed", "1.0.0", "Apache-2.0", "Options of each type", 0, "",
                  BALEEN_OPTION("flag", BALEEN_OPTION_BOOL, 0, 1, 0, "true", "", "", "-"),
                  BALEEN_OPTION("count", BALEEN_OPTION_INT, 0, 1, 0, "8", "", "", "-"),
                  BALEEN_OPTION("share", BALEEN_OPTION_FLOAT, 0, 1, 0, "0.5", "", "", "-"),
                  BALEEN_OPTION("mode", BALEEN_OPTION_STRING, 0, 1, 0, "fast", "", "", "-"),
                  BALEEN_OPTION("lr", BALEEN_OPTION_SCHEDULE, 0, 1, 0, "0.25", "", "", "-"),
                  BALEEN_OPTION("rows", BALEEN_OPTION_TABLE, 0, 1, 0, "", "", "", "-"));

class TypedSettings : public testing::Test {
 protected:
  template <class Read>
  std::string thrown(Read&& read) {
    try {
      read();
    } catch (const std::exception& e) {
      return e.what();
    }
    return "nothing";
  }
  test::TestSettings values_{baleen_plugin_note.descriptor};
  const Settings settings_{values_.set_value("lr", 3).get()};
};

TEST_F(TypedSettings, AreReadByTheirType) {
  EXPECT_TRUE(settings_.boolean("flag"));
  EXPECT_EQ(settings_.integer("count"), 8);
  EXPECT_EQ(settings_.number("share"), 0.5);
  EXPECT_EQ(settings_.number("count"), 8) << "an integer is a number";
  EXPECT_EQ(settings_.text("mode"), "fast");
  EXPECT_EQ(settings_.text("share"), "0.5");
  EXPECT_EQ(settings_.value("lr"), 3u);
  EXPECT_EQ(settings_.at("lr").number, 0.25) << "at step 0";
}

TEST_F(TypedSettings, ThrowWhereTheyAreReadAsAnother) {
  EXPECT_EQ(thrown([&] { settings_.value("share"); }),
            "option `share` is of type FLOAT: read it by `number`, not by `value`");
  EXPECT_EQ(thrown([&] { settings_.number("lr"); }),
            "option `lr` is of type SCHEDULE: read it by `value`, not by `number`");
  EXPECT_EQ(thrown([&] { settings_.integer("share"); }),
            "option `share` is of type FLOAT: read it by `number`, not by `integer`");
  EXPECT_EQ(thrown([&] { settings_.boolean("count"); }),
            "option `count` is of type INT: read it by `integer`, not by `boolean`");
  EXPECT_EQ(thrown([&] { settings_.text("rows"); }), "option `rows` is of type TABLE: read it by `at`, not by `text`");
  EXPECT_EQ(thrown([&] { settings_.list("flag"); }),
            "option `flag` is of type BOOL: read it by `boolean`, not by `text`");
  EXPECT_EQ(thrown([&] { settings_.number("missing"); }), "no option `missing` in the schema");
}

TEST_F(TypedSettings, HaveNoScheduleOutsideOfAGraph) {
  values_.set_value("lr", BALEEN_NONE);
  EXPECT_EQ(thrown([&] { settings_.value("lr"); }), "option `lr` has a value in a graph only");
}

TEST(TableKinds, AreComparedWithTheDescriptor) {
  constexpr const baleen_descriptor_t& kDescriptor = baleen_plugin_note.descriptor;
  static_assert(kDescriptor.kind_revision == BALEEN_OPTIMIZER_REVISION);
  const test::TestHost test_host;
  baleen_host_t host = *test_host.get();
  host.kind = abi("monitor");
  std::uint64_t table[2] = {sizeof table, 0};
  const std::uint64_t mine[2] = {sizeof mine, 5};
  EXPECT_EQ(baleen_give_table(&host, "optimizer", table, mine, sizeof mine), BALEEN_INVALID);
  EXPECT_EQ(test_host.failure(), "its table is of kind `optimizer`, and its descriptor says `monitor`");
  EXPECT_EQ(table[1], 0u);
  host.kind = abi("optimizer");
  EXPECT_EQ(baleen_give_table(&host, "optimizer", table, mine, sizeof mine), BALEEN_OK);
  EXPECT_EQ(table[1], 5u);
  host.size = offsetof(baleen_host_t, kind);  // a host that does not tell
  host.kind = abi("monitor");
  EXPECT_EQ(baleen_give_table(&host, "optimizer", table, mine, sizeof mine), BALEEN_OK);
}

}  // namespace
}  // namespace baleen

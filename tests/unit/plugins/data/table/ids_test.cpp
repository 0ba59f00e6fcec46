/// \file The data plugin `table`: columns of ids of 64 bits and of lists of them, and each mistake's message.
#include <gtest/gtest.h>

#include "support/dataset_run.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace baleen::test;
using Ids = std::vector<std::int64_t>;
using Lengths = std::vector<std::int32_t>;

class TableIds : public testing::Test {
 protected:
  /// All rows in the file's order.
  DatasetRun open(const std::string& csv) {
    settings.set("path", folder.write("t.csv", csv)).set("shuffle", "false").set("held_out", 0.0);
    return DatasetRun(plugin, settings);
  }
  std::string failure(const std::string& csv) {
    settings.set("path", folder.write("t.csv", csv));
    return failure_of(plugin, settings);
  }
  template <class T>
  std::vector<T> all(const DatasetRun& data, const std::string& name) const {
    for (std::uint32_t f = 0; f < data.info().field_count; ++f)
      if (data.info().fields[f].name == name)
        return data.numbers<T>(f, BALEEN_TRAIN, 0, data.info().rows[BALEEN_TRAIN]);
    ADD_FAILURE() << "no field " << name;
    return {};
  }
  static std::vector<std::string> fields(const DatasetRun& data) {
    std::vector<std::string> texts;
    for (std::uint32_t f = 0; f < data.info().field_count; ++f) {
      const baleen_field_t& field = data.info().fields[f];
      std::string text = std::string(field.name) + " " + std::string(baleen::dtype_name(field.dtype));
      for (std::uint32_t d = 0; d < field.rank; ++d) text += " " + std::to_string(field.shape[d]);
      texts.push_back(text);
    }
    return texts;
  }

  PluginUnderTest<baleen_data_t> plugin{built_plugin("data", "table")};
  TemporaryFolder folder;
  TestSettings settings{plugin.descriptor, folder.path(), 5};
  const std::string path = folder / "t.csv";
};

TEST_F(TableIds, AreReadWithAllTheirBits) {
  settings.set("ids", "user");
  const DatasetRun data = open(
      "size,user,y\n1,9223372036854775807,0\n2,-9223372036854775808,1\n3,9007199254740993,0\n4,+7,1\n5,0,0\n6,-1,0\n");
  EXPECT_EQ(all<std::int64_t>(data, "user"), (Ids{INT64_MAX, INT64_MIN, 9007199254740993, 7, 0, -1}));
  EXPECT_EQ(fields(data), (std::vector<std::string>{"features fp32 1", "user int64", "label int32"}));
  EXPECT_EQ(all<float>(data, "features"), (std::vector<float>{1, 2, 3, 4, 5, 6})) << "an id is no feature";
  EXPECT_STREQ(data.info().summary, "t.csv: 6 train, 0 held-out rows; 1 feature, ids `user`, 2 classes: 0, 1");
}

TEST_F(TableIds, OfListsHaveZerosBehindThemAndTheirLengthsBeside) {
  settings.set("lists", "items").set("most", 3);
  const DatasetRun data = open("items,y\n12|7|99,0\n,1\n\"5\",0\n -3 | 4 ,1\n");
  EXPECT_EQ(all<std::int64_t>(data, "items"), (Ids{12, 7, 99, 0, 0, 0, 5, 0, 0, -3, 4, 0}));
  EXPECT_EQ(all<std::int32_t>(data, "items_length"), (Lengths{3, 0, 1, 2}));
  EXPECT_EQ(fields(data), (std::vector<std::string>{"items int64 3", "items_length int32", "label int32"}));
  EXPECT_STREQ(data.info().summary, "t.csv: 4 train, 0 held-out rows; lists `items` of at most 3, 2 classes: 0, 1");
  const auto* ragged =
      static_cast<const baleen_data_ragged_t*>(plugin.table.query(data.handle(), baleen::abi(BALEEN_DATA_RAGGED)));
  ASSERT_NE(ragged, nullptr);
  EXPECT_EQ(ragged->length_field(data.handle(), 0), 1);
  for (const std::uint32_t other : {1u, 2u, 3u, 99u}) EXPECT_EQ(ragged->length_field(data.handle(), other), -1);
}

TEST_F(TableIds, StandBesideFeaturesAndOtherListsInTheOrderOfTheOptions) {
  settings.set("ids", "b\na").set("lists", "d\nc").set("most", 2).set("list_separator", "semicolon");
  const DatasetRun data = open("a,b,c,d,x,y\n1,2,3;4,5,0.5,7\n8,9,,1,1.5,7\n");
  EXPECT_EQ(fields(data), (std::vector<std::string>{"features fp32 1", "b int64", "a int64", "d int64 2",
                                                    "d_length int32", "c int64 2", "c_length int32", "label int32"}));
  EXPECT_EQ(all<std::int64_t>(data, "a"), (Ids{1, 8}));
  EXPECT_EQ(all<std::int64_t>(data, "b"), (Ids{2, 9}));
  EXPECT_EQ(all<std::int64_t>(data, "c"), (Ids{3, 4, 0, 0}));
  EXPECT_EQ(all<std::int64_t>(data, "d"), (Ids{5, 0, 1, 0}));
  EXPECT_EQ(all<float>(data, "features"), (std::vector<float>{0.5F, 1.5F}));
}

TEST_F(TableIds, OfListsMayStandApartByBlanks) {
  settings.set("lists", "1").set("most", 4).set("list_separator", "space");
  const DatasetRun data = open("1  2 3,0\n4,1\n");
  EXPECT_EQ(all<std::int64_t>(data, "column_1"), (Ids{1, 2, 3, 0, 4, 0, 0, 0}));
  EXPECT_EQ(all<std::int32_t>(data, "column_1_length"), (Lengths{3, 1}));
}

TEST_F(TableIds, OfLongerListsAreRefusedOrCut) {
  settings.set("lists", "items").set("most", 2);
  EXPECT_EQ(failure("items,y\n1|2,0\n1|2|3,1\n"),
            path +
                ":3: column `items` has a list of 3 ids, above `most` = 2; raise `most`, or set `longer` = \"cut\" "
                "to keep the first ones");
  settings.set("longer", "cut");
  const DatasetRun data = open("items,y\n1|2,0\n1|2|3,1\n");
  EXPECT_EQ(all<std::int64_t>(data, "items"), (Ids{1, 2, 1, 2}));
  EXPECT_EQ(all<std::int32_t>(data, "items_length"), (Lengths{2, 2}));
}

TEST_F(TableIds, OfListsNeedMost) {
  settings.set("lists", "items");
  EXPECT_EQ(failure("items,y\n1|2,0\n\n1|2|3,1\n"),
            path + ": `lists` needs `most`, the most ids that a list may have; the longest has 3 (line 4)");
}

TEST_F(TableIds, OptionsOfListsAreForLists) {
  const std::pair<const char*, const char*> options[] = {{"most", "2"}, {"list_separator", "space"}, {"longer", "cut"}};
  for (const auto& [name, value] : options) {
    TestSettings one{plugin.descriptor, folder.path(), 5};
    one.set(name, value).set("path", folder.write("t.csv", "items,y\n1,0\n"));
    EXPECT_EQ(failure_of(plugin, one),
              path + ": `" + std::string(name) + "` is for `lists`, and no column is named there");
  }
}

TEST_F(TableIds, ThatAreNoInt64AreNamedWithTheirLines) {
  settings.set("ids", "user");
  EXPECT_EQ(failure("user,y\n1,0\n18446744073709551615,1\n"),
            path +
                ":3: column `user`: `18446744073709551615` is outside int64, -9223372036854775808 to "
                "9223372036854775807; write hashes without a sign less 2^64 where they are above");
  const std::string other = " is no whole number; ids are numbers of 64 bits, so turn other names into such";
  for (const char* wrong : {"u7", "1.5", "1e3", "-", "0x10", "+-1", "9 9"})
    EXPECT_EQ(failure("user,y\n" + std::string(wrong) + ",0\n"), path + ":2: column `user`: `" + wrong + "`" + other);
  EXPECT_EQ(failure("user,y\n1,0\n,1\n"),
            path + ":3: column `user` lacks an id; write one for what is not known, as 0");
}

TEST_F(TableIds, OfListsThatAreNoInt64AreNamedWithTheirLines) {
  settings.set("lists", "items").set("most", 4);
  EXPECT_EQ(failure("items,y\n1|x,0\n"),
            path +
                ":2: column `items`: `x` is no whole number; ids are numbers of 64 bits, so turn other names into "
                "such");
  for (const char* wrong : {"1||2", "|1", "1|"})
    EXPECT_EQ(failure("items,y\n" + std::string(wrong) + ",0\n"),
              path + ":2: column `items`: the list `" + wrong + "` has an empty id");
}

TEST_F(TableIds, HaveColumnsOfTheirOwn) {
  settings.set("ids", "y");
  EXPECT_EQ(failure("user,y\n1,0\n"), path + ": `ids` or `lists` names the label, `y`");
  settings.set("ids", "user").set("features", "user");
  EXPECT_EQ(failure("user,y\n1,0\n"), path + ": `features` names `user`, which `ids` or `lists` names too");
  settings.set("features", "").set("lists", "user").set("most", 2);
  EXPECT_EQ(failure("user,y\n1,0\n"),
            path + ": `lists` names `user`, which is named before; a column is named once, by `ids` or by `lists`");
  settings.set("lists", "").set("most", 0.0).set("ids", "who");
  EXPECT_EQ(failure("user,y\n1,0\n"), path + ": no column `who`; the columns are `user`, `y`, or 1 to 2");
}

TEST_F(TableIds, HaveColumnsWhoseNamesAreFields) {
  settings.set("ids", "label");
  const std::string remedy = "; rename it in the header";
  EXPECT_EQ(failure("label,y\n1,0\n"),
            path + ": column `label` cannot be a field of the data: there is another field of this name" + remedy);
  settings.set("ids", "items_length").set("lists", "items").set("most", 1);
  EXPECT_EQ(failure("items,items_length,y\n1,2,0\n"),
            path + ": column `items` cannot be a field of the data: there is another field of this name" + remedy);
  settings.set("ids", "1").set("lists", "").set("most", 0.0);
  const std::string name(32, 'n');
  EXPECT_EQ(failure(name + ",y\n1,0\n"),
            path + ": column `" + name + "` cannot be a field of the data: its name is longer than 31 bytes" + remedy);
  settings.set("header", "true");
  EXPECT_EQ(failure(",y\n1,0\n"), path + ": column `` cannot be a field of the data: it has no name" + remedy);
}

TEST_F(TableIds, AreAtMostAsManyAsABatchHasFields) {
  std::string header, row, names;
  for (int i = 0; i < 16; ++i) {
    const std::string name = std::string(1, static_cast<char>('a' + i));
    header += name + ",", row += "1,", names += (i ? "\n" : "") + name;
  }
  settings.set("ids", names);
  EXPECT_EQ(failure(header + "y\n" + row + "0\n"),
            "t.csv: the columns of `ids` and `lists` make 17 fields (a list makes two); there can be 16");
}

TEST_F(TableIds, OfArraysAreWhatDoublesHold) {
  settings.set_table("rows", {5, 9007199254740991, 0, 6, -2, 1}, 3).set("ids", "2").set("held_out", 0.0);
  settings.set("shuffle", "false");
  EXPECT_EQ(all<std::int64_t>(DatasetRun(plugin, settings), "column_2"), (Ids{9007199254740991, -2}));
  const std::string rest = "; ids in `rows` are whole numbers of less than 2^53, larger ones stand in a CSV file";
  settings.set_table("rows", {5, 1, 0, 6, 0.5, 1}, 3);
  EXPECT_EQ(failure_of(plugin, settings), "row 2: column `2` holds 0.500000" + rest);
  settings.set_table("rows", {5, 9007199254740992, 0, 6, 1, 1}, 3);
  EXPECT_EQ(failure_of(plugin, settings), "row 1: column `2` holds 9007199254740992.000000" + rest);
  settings.set_table("rows", {5, 1, 0, 6, 1, 1}, 3).set("ids", "").set("lists", "2").set("most", 2);
  EXPECT_EQ(failure_of(plugin, settings), "rows: `lists` names columns of a CSV file; `rows` holds single numbers");
}

}  // namespace

/// \file Bad input of the data plugin `table`: each mistake's message.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <limits>

#include "support/dataset_run.hpp"
#include "support/ordinary_user.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace baleen::test;

class BadTable : public testing::Test {
 protected:
  PluginUnderTest<baleen_data_t> plugin{built_plugin("data", "table")};
  TemporaryFolder folder;
  TestSettings settings{plugin.descriptor, folder.path()};
  const std::string path = folder / "t.csv";
  std::string failure() { return failure_of(plugin, settings); }
  std::string failure_with(const std::string& csv) {
    settings.set("path", folder.write("t.csv", csv));
    return failure();
  }
};

TEST_F(BadTable, NeedsPathOrRows) {
  EXPECT_EQ(failure(), "table: give `path`, a CSV file, or `rows`, a list of lists of numbers");
  settings.set("path", "t.csv").set_table("rows", {1, 2}, 2);
  EXPECT_EQ(failure(), "table: give `path` or `rows`, not both");
}

TEST_F(BadTable, NamesWhatItCannotOpen) {
  settings.set("path", "nowhere.csv");
  EXPECT_EQ(failure(), folder / "nowhere.csv" + ": cannot open: No such file or directory");
  settings.set("path", ".");
  EXPECT_TRUE(failure().ends_with("cannot read: Is a directory")) << failure();
}

TEST_F(BadTable, NamesAnUnreadableFile) {
  settings.set("path", folder.write("t.csv", "1,2\n"));
  ::chmod(folder.path().c_str(), 0755);
  ::chmod(path.c_str(), 0);
  const OrdinaryUser user;
  if (!user.possible()) GTEST_SKIP() << "needs to run as an ordinary user";
  EXPECT_EQ(failure(), path + ": cannot open: Permission denied");
}

TEST_F(BadTable, NamesAnEmptyFile) {
  EXPECT_EQ(failure_with(""), path + ": the file is empty");
  EXPECT_EQ(failure_with("\n\n"), path + ": the file has no rows");
  EXPECT_EQ(failure_with("age,price\n"), path + ": the file has a header, but no rows");
  settings.set("header", "true");
  EXPECT_EQ(failure_with("a,b\n"), path + ": the file has a header, but no rows");
}

TEST_F(BadTable, SaysWhatIsGivenInsteadOfCsv) {
  const auto with = [](std::string_view begin) { return std::string(begin) + "\x7f,1\n2,3,4\n"; };
  using namespace std::string_view_literals;
  EXPECT_EQ(failure_with(with("\x1f\x8b\x08\0"sv)), path + ": is compressed by gzip; unpack it first");
  EXPECT_EQ(failure_with(with("PK\x03\x04"sv)), path + ": is compressed by zip; unpack it first");
  EXPECT_EQ(failure_with(with("\xff\xfe"
                              "1\0"sv)),
            path + ": is text in UTF-16; save it in UTF-8");
  for (const char* json : {"{\"a\": 1}\n", "[{\"a\": 1}]\n", "[\n{\"a\": 1}]\n"})
    EXPECT_EQ(failure_with(json), path + ": is JSON; a table is read from a CSV file");
  EXPECT_EQ(failure_with(with("1,2\n3\0"sv)),
            path + ": is a binary file (its byte 5 is 0); a table is read from a CSV file");
}

TEST_F(BadTable, NamesTheLineOfARaggedRow) {
  EXPECT_EQ(failure_with("a,b,c\n1,2,3\n\n4,5\n"), path + ":4: the row has 2 fields, but the first has 3");
}

TEST_F(BadTable, NamesTheLineOfAnOpenQuote) {
  EXPECT_EQ(failure_with("a,b\n1,\"x\n2,3\n"), path + ":2: a quote is opened and never closed");
  EXPECT_EQ(failure_with("a,b\n1,\"x\"y\n"), path + ":2: text follows a closing quote");
}

TEST_F(BadTable, NamesAnUnknownColumnAndTheKnownOnes) {
  settings.set("label", "colour");
  EXPECT_EQ(failure_with("a,b\n1,2\n"), path + ": no column `colour`; the columns are `a`, `b`, or 1 to 2");
  settings.set("label", "3");
  EXPECT_EQ(failure_with("a,b\n1,2\n"), path + ": no column `3`; the columns are `a`, `b`, or 1 to 2");
}

TEST_F(BadTable, RefusesOneColumn) {
  EXPECT_EQ(failure_with("1\n2\n"), path + ": a table needs two columns: a feature and a label");
}

TEST_F(BadTable, SaysWhatElseSeparatesFields) {
  const std::string one = path +
                          ": a table needs two columns: a feature and a label; its first line has others between "
                          "its fields: set `separator` = ";
  EXPECT_EQ(failure_with("a\tb\n1\t2\n"), one + "\"tab\"");
  EXPECT_EQ(failure_with("a;b\n1;2\n"), one + "\"semicolon\"");
  EXPECT_EQ(failure_with("1;2\n3;4\n"), one + "\"semicolon\"");
  settings.set("separator", "tab");
  EXPECT_EQ(failure_with("a,b\n1,2\n"), one + "\"comma\"");
}

TEST_F(BadTable, WaitsForNoPipe) {
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  settings.set("path", "t.csv");
  EXPECT_EQ(failure(), path + ": is a pipe; a table is read from a file");
}

/// They may be meant, so they are told.
TEST_F(BadTable, TellsOfNumbersThatAreReadAsCategories) {
  EXPECT_EQ(failure_with("a,b\n1,0\n2,1\n\"1,5\",1\n"), "");
  ASSERT_EQ(plugin.host->logged().size(), 1u);
  EXPECT_EQ(plugin.host->logged()[0], path + ": column `a` is read as 3 categories, since it holds `1,5` (" + path +
                                          ":4) among 2 numbers; mend the value where it should be one");
  EXPECT_EQ(failure_with("a,b\n1,0\nx,1\ny,1\n"), "");
  EXPECT_EQ(plugin.host->logged().size(), 1u) << "most are names";
}

TEST_F(BadTable, TellsOfClassesThatAreHeldOut) {
  std::size_t told = 0;
  // One of the rows is held out, and one after the other is the odd one.
  settings.set("held_out", 0.1);
  for (int odd = 0; odd < 10; ++odd) {
    std::string rows = "a,b\n";
    for (int i = 0; i < 10; ++i) rows += std::to_string(i) + (i == odd ? ",odd\n" : ",even\n");
    EXPECT_EQ(failure_with(rows), "");
    told = plugin.host->logged().size();
    if (told > 0) break;
  }
  ASSERT_EQ(told, 1u);
  EXPECT_EQ(plugin.host->logged()[0], path +
                                          ": class `odd` of column `b` stands in held-out rows alone, so nothing is "
                                          "learned of it; give more rows of it, or change `held_out`");
}

TEST_F(BadTable, RefusesTwoColumnsOfOneName) {
  EXPECT_EQ(failure_with("a,b,a,c\n1,2,3,4\n"),
            path + ": columns 1 and 3 are both called `a`; rename one in the header");
  settings.set("label", "c");
  settings.set("features", "b");
  EXPECT_EQ(failure_with("a,b,a,c\n1,2,3,4\n"), "") << "neither is used";
}

TEST_F(BadTable, RefusesNumbersThatModelsCannotRead) {
  EXPECT_EQ(failure_with("a,b\n1,0\n-1e39,1\n"),
            path + ":3: column `a` holds -1e+39, above what fp32 can hold; scale the column");
  settings.set("task", "regress");
  EXPECT_EQ(failure_with("a,b\n1,0\n2,1e39\n"),
            path + ":3: column `b` holds 1e+39, above what fp32 can hold; scale the column");
}

TEST_F(BadTable, RefusesTheLabelOrARepeatAmongFeatures) {
  settings.set("features", "a\nb");
  EXPECT_EQ(failure_with("a,b\n1,2\n"), path + ": `features` names the label, `b`");
  settings.set("features", "a\n1");
  EXPECT_EQ(failure_with("a,b\n1,2\n"), path + ": `features` names `1` twice");
}

TEST_F(BadTable, NamesTheLineOfAMissingField) {
  EXPECT_EQ(failure_with("a,b\n1,2\n,3\n"),
            path + ":3: column `a` lacks a value; set `missing` = \"mean\" or \"category\" to fill it");
  EXPECT_EQ(failure_with("a,b\nx,2\n5,3\n?,4\n"),
            path + ":4: column `a` lacks a value; set `missing` = \"mean\" or \"category\" to fill it");
  settings.set("missing", "mean");
  EXPECT_EQ(failure_with("a,b\n1,2\n3,?\n"), path + ":3: the label column `b` lacks a value");
}

TEST_F(BadTable, NamesTheTextThatMakesANumericColumnCategories) {
  std::string csv = "a,b\n";
  for (int i = 0; i < 300; ++i) csv += (i == 40 ? std::string("4O") : std::to_string(i)) + ",1\n";
  EXPECT_EQ(failure_with(csv),
            path + ": column `a` is not numeric because of `4O` (" + path +
                ":42), and as categories it has 300, above `max_categories` = 256; mend the value, or "
                "leave the column out of `features`");
}

/// Of a short file too: one typing error must not make each of its numbers a category.
TEST_F(BadTable, NamesTheTextAmongNearlyNumbersAlone) {
  const auto csv_of = [](int numbers, const std::string& text, int texts) {
    std::string csv = "a,b\n";
    for (int i = 0; i < numbers; ++i) csv += std::to_string(i) + "," + std::to_string(i % 2) + "\n";
    for (int i = 0; i < texts; ++i) csv += text + ",1\n";
    return csv;
  };
  for (const std::string text : {"inf", "1e999", "1 000", "0x10"})
    EXPECT_EQ(
        failure_with(csv_of(60, text, 1)),
        path + ": column `a` is not numeric because of `" + text + "` (" + path +
            ":62), and as categories it has 61, above an eighth of `max_categories` = 256, which counts where 9 of "
            "10 fields are numbers; mend the value, leave the column out of `features`, or set `max_categories` "
            "higher");
  EXPECT_EQ(failure_with(csv_of(60, "none", 10)), "") << "more than a mistake";
  EXPECT_EQ(failure_with(csv_of(30, "none", 1)), "") << "few enough";
  settings.set("max_categories", 8 * 61);
  EXPECT_EQ(failure_with(csv_of(60, "inf", 1)), "");
}

TEST_F(BadTable, RefusesTextToRegressAndNumbersToClassify) {
  settings.set("task", "regress");
  EXPECT_EQ(failure_with("a,b\n1,x\n"),
            path + ": the label column `b` must be numeric for `task` = \"regress\", but holds `x` (" + path + ":2)");
  settings.set("task", "classify").set("max_categories", 2);
  EXPECT_EQ(
      failure_with("1,1\n1,2\n1,3\n"),
      path +
          ": the label column `2` has 3 classes, above `max_categories` = 2; for a number to predict, set `task` = "
          "\"regress\"");
}

TEST_F(BadTable, NamesTheRowOfAnInfinity) {
  settings.set_table("rows", {1, 2, std::numeric_limits<double>::infinity(), 4}, 2);
  EXPECT_EQ(failure(), "row 2: column 1 holds an infinity");
}

}  // namespace

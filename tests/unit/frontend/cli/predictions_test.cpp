/// \file Outputs as lines of text.
#include "frontend/cli/predictions.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "frontend/cli/new_file.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::app {
namespace {

HostTensor tensor(const std::vector<double>& numbers, Shape shape, baleen_dtype_t dtype = BALEEN_F64) {
  return *tensor_of(numbers, dtype, std::move(shape));
}

std::string lines(PredictionFormat format, const HostTensors& outputs, std::int64_t count, ClassNames names = {}) {
  Predictions predictions(format, std::move(names));
  return *predictions.header(outputs) + *predictions.rows(outputs, 0, count);
}

ClassNames named(const std::vector<std::string>& labels) {
  ClassNames names;
  names.label = [labels](std::int64_t number) -> Result<std::string> {
    return labels.at(static_cast<std::size_t>(number));
  };
  return names;
}

TEST(Predictions, AreOneNumberOrColumns) {
  const HostTensors outputs{{"mean", tensor({0.1, -2}, {2})}, {"point", tensor({1, 2.5, 3, 4}, {2, 2}, BALEEN_F32)}};
  EXPECT_EQ(lines(PredictionFormat::csv, outputs, 2), "mean,point_1,point_2\n0.1,1,2.5\n-2,3,4\n");
  EXPECT_EQ(lines(PredictionFormat::jsonl, outputs, 2),
            "{\"mean\":0.1,\"point\":[1,2.5]}\n{\"mean\":-2,\"point\":[3,4]}\n");
}

TEST(Predictions, AreAsShortAsTheirDtypeAllows) {
  EXPECT_EQ(lines(PredictionFormat::csv, {{"x", tensor({0.1}, {1, 1}, BALEEN_F32)}}, 1), "x\n0.1\n");
  EXPECT_EQ(lines(PredictionFormat::csv, {{"x", tensor({1.0 / 3}, {1, 1})}}, 1), "x\n0.3333333333333333\n");
  EXPECT_EQ(lines(PredictionFormat::csv, {{"x", tensor({7}, {1}, BALEEN_I32)}}, 1), "x\n7\n");
}

TEST(Predictions, OfMoreDimensionsAreListsInLists) {
  const HostTensors outputs{{"x", tensor({1, 2, 3, 4}, {1, 2, 2})}};
  EXPECT_EQ(lines(PredictionFormat::csv, outputs, 1), "x\n\"[[1,2],[3,4]]\"\n");
  EXPECT_EQ(lines(PredictionFormat::jsonl, outputs, 1), "{\"x\":[[1,2],[3,4]]}\n");
}

TEST(Predictions, Of64BitIntegersAreExact) {
  const std::vector<std::int64_t> ids{9007199254740993, INT64_MAX, INT64_MIN, -1};
  HostTensor exact{BALEEN_I64, {2, 2}, std::vector<std::byte>(ids.size() * sizeof ids[0])};
  std::memcpy(exact.bytes.data(), ids.data(), exact.bytes.size());
  EXPECT_EQ(lines(PredictionFormat::csv, {{"id", exact}}, 2),
            "id_1,id_2\n9007199254740993,9223372036854775807\n-9223372036854775808,-1\n");
  EXPECT_EQ(lines(PredictionFormat::jsonl, {{"id", exact}}, 1), "{\"id\":[9007199254740993,9223372036854775807]}\n");
}

TEST(Predictions, ThatAreNoNumbersAreNullInJson) {
  const HostTensors outputs{{"x", tensor({NAN, INFINITY}, {2})}};
  EXPECT_EQ(lines(PredictionFormat::jsonl, outputs, 2), "{\"x\":null}\n{\"x\":null}\n");
  EXPECT_EQ(lines(PredictionFormat::csv, outputs, 2), "x\nnan\ninf\n");
}

TEST(Predictions, OfClassesAreTheLikeliestWithItsProbability) {
  const HostTensors outputs{{"logits", tensor({0, std::log(3.0), 1000, 1000}, {2, 2})}};
  EXPECT_EQ(lines(PredictionFormat::csv, outputs, 2), "class,probability\n1,0.75\n0,0.5\n");
  EXPECT_EQ(lines(PredictionFormat::csv, outputs, 2, named({"a, b", "say \"no\""})),
            "class,probability\n\"say \"\"no\"\"\",0.75\n\"a, b\",0.5\n");
  EXPECT_EQ(lines(PredictionFormat::jsonl, outputs, 1, named({"a", "say \"no\""})),
            "{\"class\":\"say \\\"no\\\"\",\"probability\":0.75}\n");
}

TEST(Predictions, OfSequencesAreListsAndTextWhereThereIsSome) {
  const HostTensors outputs{{"logits", tensor({0, 9, 9, 0, 0, 9}, {1, 3, 2}, BALEEN_F32)}};
  const std::string lists = "\"class\":[1,0,1],\"probability\":[0.9998766,0.9998766,0.9998766]}\n";
  EXPECT_EQ(lines(PredictionFormat::jsonl, outputs, 1), "{" + lists);
  ClassNames names;
  names.text = [](const std::vector<std::int32_t>& ids) -> Result<std::string> {
    std::string text;
    for (const std::int32_t id : ids) text += static_cast<char>('a' + id);
    return text;
  };
  EXPECT_EQ(lines(PredictionFormat::jsonl, outputs, 1, names), "{\"text\":\"bab\"," + lists);
}

TEST(Predictions, HaveNoTwoValuesOfOneName) {
  const HostTensor logits = tensor({0, 1}, {1, 2}), one = tensor({1}, {1}), two = tensor({1, 2}, {1, 2});
  const auto error = [](PredictionFormat format, const HostTensors& outputs) {
    const auto header = Predictions(format, {}).header(outputs);
    return header ? "" : header.error().message;
  };
  for (const PredictionFormat format : {PredictionFormat::csv, PredictionFormat::jsonl})
    for (const std::string name : {"class", "probability"})
      EXPECT_EQ(error(format, {{"logits", logits}, {name, one}}),
                "each row would have two values of the name `" + name +
                    "`; give the model's outputs other names: `logits` becomes `class`, `probability` and `text`");
  EXPECT_EQ(error(PredictionFormat::csv, {{"x", two}, {"x_2", one}}),
            "each row would have two values of the name `x_2`; give the model's outputs other names");
  EXPECT_EQ(error(PredictionFormat::jsonl, {{"x", two}, {"x_2", one}}), "");
}

TEST(Predictions, OfABatchAreAsManyAsAreAskedFor) {
  Predictions predictions(PredictionFormat::csv, {});
  EXPECT_EQ(*predictions.rows({{"x", tensor({1, 2, 3, 4}, {4})}}, 1, 2), "2\n3\n");
}

TEST(NewFile, IsThereWhenItIsWhole) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("out", "old");
  {
    auto file = NewFile::create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("new"));
  }
  EXPECT_EQ(test::read_file(path), "old");
  const std::string much(1 << 18, 'x');
  {
    auto file = NewFile::create(path);
    ASSERT_TRUE(file && file->write("new") && file->write(much) && file->finish());
  }
  EXPECT_EQ(test::read_file(path), "new" + much);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_FALSE(NewFile::create(folder / "none/out"));
}

TEST(NewFile, LeavesLinksAsTheyAre) {
  const test::TemporaryFolder folder;
  const std::string real = folder.write("disk/real", "old"), link = folder / "link";
  std::filesystem::create_symlink("disk/real", link);
  auto file = NewFile::create(link);
  ASSERT_TRUE(file && file->write("new") && file->finish());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(test::read_file(real), "new");
}

/// As standard output that a shell has sent to a file.
TEST(NewFile, GoesOnInAFileThatIsOpen) {
  const test::TemporaryFolder folder;
  const FileHandle open(::open((folder / "real").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  const std::string link = folder / "link";
  std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(open.get()), link);
  ASSERT_EQ(::write(open.get(), "a", 1), 1);
  auto file = NewFile::create(link);
  ASSERT_TRUE(file && file->write("b") && file->finish());
  ASSERT_EQ(::write(open.get(), "c", 1), 1);
  EXPECT_EQ(test::read_file(folder / "real"), "abc");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

/// A process that is killed while it writes leaves nothing.
TEST(NewFile, HasNoNameBefore) {
  const test::TemporaryFolder folder;
  auto file = NewFile::create(folder / "out");
  ASSERT_TRUE(file && file->write(std::string(1 << 18, 'x')));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 0);
  ASSERT_TRUE(file->finish());
  EXPECT_EQ(test::read_file(folder / "out").size(), 1u << 18);
}

}  // namespace
}  // namespace baleen::app

/// \file Parameters to a file and back, into this model and into others.
#include "frontend/checkpoint/parameter_file.hpp"

#include <gtest/gtest.h>

#include "unit/core/runtime/small_job.hpp"

namespace baleen::test {
namespace {

std::vector<double> weights(Session& session) {
  std::vector<double> values(session.persistent().find("hidden.weight")->bytes / sizeof(double));
  EXPECT_TRUE(session.read_tensor("hidden.weight", values.data(), values.size() * sizeof(double)));
  return values;
}

TEST(Checkpoint, ParametersComeBackBitForBit) {
  TemporaryFolder folder;
  SmallRun a(folder), b(folder);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(a.session->step());
  const std::string file = folder / "model.safetensors";
  ASSERT_TRUE(save_parameters(*a.session, a.registry(), file, {{"steps", "3"}})->status);
  EXPECT_NE(weights(*a.session), weights(*b.session));
  const Status loaded = load_parameters(*b.session, b.registry(), file);
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_EQ(weights(*a.session), weights(*b.session));
  const auto x = a.session->evaluate(2), y = b.session->evaluate(2);
  EXPECT_EQ(x->at("held_out_loss"), y->at("held_out_loss"));
}

TEST(Checkpoint, ALinkInThePlaceOfAFileStaysOne) {
  TemporaryFolder folder;
  SmallRun run(folder);
  const std::string real = folder.write("disk/real.safetensors", "old"), link = folder / "model.safetensors";
  std::filesystem::create_symlink(real, link);
  ASSERT_TRUE(save_parameters(*run.session, run.registry(), link, {})->status);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(load_parameters(*run.session, run.registry(), real));
}

TEST(Checkpoint, NumbersAreConvertedBetweenPrecisions) {
  TemporaryFolder folder;
  SmallRun narrow(folder, {.dtype = BALEEN_F32}), wide(folder);
  const std::string file = folder / "model.safetensors";
  ASSERT_TRUE(save_parameters(*narrow.session, narrow.registry(), file, {})->status);
  ASSERT_TRUE(load_parameters(*wide.session, wide.registry(), file));
  std::vector<float> floats(6 * 12);
  ASSERT_TRUE(narrow.session->read_tensor("hidden.weight", floats.data(), floats.size() * sizeof(float)));
  EXPECT_EQ(weights(*wide.session), std::vector<double>(floats.begin(), floats.end()));
}

TEST(Checkpoint, AnotherShapeIsRefusedWithBoth) {
  TemporaryFolder folder;
  SmallRun a(folder), b(folder, {.width = 13});
  const std::string file = folder / "model.safetensors";
  ASSERT_TRUE(save_parameters(*a.session, a.registry(), file, {})->status);
  const Status loaded = load_parameters(*b.session, b.registry(), file);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, BALEEN_INVALID);
  for (const char* part : {"hidden.weight", "[6, 12]", "[6, 13]", "model.safetensors"})
    EXPECT_NE(loaded.error().text().find(part), std::string::npos) << loaded.error().text();
}

TEST(Checkpoint, AnUnknownEndingAndAMissingFileAreNamed) {
  TemporaryFolder folder;
  SmallRun run(folder);
  const Status unknown = save_parameters(*run.session, run.registry(), folder / "model.zip", {})->status;
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().text().find("zip"), std::string::npos) << unknown.error().text();
  const Status missing = load_parameters(*run.session, run.registry(), folder / "none.safetensors");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text().find("none.safetensors"), std::string::npos) << missing.error().text();
}

}  // namespace
}  // namespace baleen::test

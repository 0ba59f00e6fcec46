/// \file What a data plugin tells of its rows is taken only where it can be true.
#include "core/runtime/dataset_info.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "baleen/data.hpp"

namespace baleen {

using namespace sdk;

namespace {

baleen_dataset_info_t good() {
  baleen_dataset_info_t info{};
  info.size = sizeof info;
  info.field_count = 2;
  info.fields[0] = make_field("word", BALEEN_I32, {7}, {"seq"});
  info.fields[1] = make_field("label", BALEEN_U8, {}, {});
  info.rows[BALEEN_TRAIN] = 5;
  info.units_per_row = 7;
  copy_text(info.unit, "tokens");
  return info;
}

/// The message after `change`.
template <class Change>
std::string refused(Change&& change) {
  baleen_dataset_info_t info = good();
  change(info);
  const Status status = check_dataset_info(info);
  if (status) return "accepted";
  EXPECT_EQ(status.error().code, BALEEN_INTERNAL) << "the plugin's own bug";
  EXPECT_TRUE(status.error().message.ends_with("; see baleen/data.h")) << status.error().message;
  return status.error().message.substr(0, status.error().message.find(';'));
}

TEST(DatasetInfo, IsTakenWhereItCanBe) {
  EXPECT_EQ(refused([](auto&) {}), "accepted");
  EXPECT_EQ(refused([](auto& info) { info.rows[BALEEN_HELD_OUT] = 3; }), "accepted");
  for (const baleen_dtype_t dtype : {BALEEN_F32, BALEEN_I32, BALEEN_I64, BALEEN_U8})
    EXPECT_EQ(refused([&](auto& info) { info.fields[0].dtype = dtype; }), "accepted") << dtype;
}

TEST(DatasetInfo, NeedsFields) {
  EXPECT_EQ(refused([](auto& info) { info.field_count = 0; }), "its info has 0 fields");
  EXPECT_EQ(refused([](auto& info) { info.field_count = 17; }), "its info has 17 fields");
  EXPECT_EQ(refused([](auto& info) { info.fields[1].name[0] = '\0'; }), "its info has a field without a name: field 1");
  EXPECT_EQ(refused([](auto& info) { copy_text(info.fields[1].name, "word"); }), "its info has two fields `word`");
}

TEST(DatasetInfo, NeedsTextsThatEnd) {
  const auto fill = [](auto& array) { std::memset(array, 'x', sizeof array); };
  EXPECT_EQ(refused([&](auto& info) { fill(info.fields[0].name); }),
            "its info has the name of field 0 without an end: it takes at most 31 bytes");
  EXPECT_EQ(refused([&](auto& info) { fill(info.fields[0].axes[0]); }),
            "its info has an axis of field `word` without an end: it takes at most 15 bytes");
  EXPECT_EQ(refused([&](auto& info) { fill(info.unit); }),
            "its info has a unit without an end: it takes at most 15 bytes");
  EXPECT_EQ(refused([&](auto& info) { fill(info.summary); }),
            "its info has a summary without an end: it takes at most 255 bytes");
}

TEST(DatasetInfo, NeedsDtypesAndShapesOfRows) {
  EXPECT_EQ(refused([](auto& info) { info.fields[0].dtype = BALEEN_F64; }), "its info has field `word` of dtype 2");
  for (const int dtype : {int{BALEEN_F16}, int{BALEEN_BF16}, 8, 0})
    EXPECT_EQ(refused([&](auto& info) { info.fields[0].dtype = dtype; }),
              "its info has field `word` of dtype " + std::to_string(dtype));
  EXPECT_EQ(refused([](auto& info) { info.fields[0].rank = 8; }), "its info has field `word` of rank 8");
  EXPECT_EQ(refused([](auto& info) { info.fields[0].shape[0] = 0; }),
            "its info has field `word` of extent 0 along dimension 0");
  EXPECT_EQ(refused([](auto& info) { info.fields[0].shape[0] = std::numeric_limits<std::int64_t>::max(); }),
            "its info has field `word` of extent 9223372036854775807 along dimension 0");
}

TEST(DatasetInfo, NeedsCountsThatCanBe) {
  EXPECT_EQ(refused([](auto& info) { info.rows[BALEEN_TRAIN] = 0; }),
            "its info has 0 rows to train with and 0 held out");
  EXPECT_EQ(refused([](auto& info) { info.rows[BALEEN_HELD_OUT] = -4; }),
            "its info has 5 rows to train with and -4 held out");
  EXPECT_EQ(refused([](auto& info) { info.classes = -1; }), "its info has -1 classes");
  EXPECT_EQ(refused([](auto& info) { info.units_per_row = 0; }), "its info has 0.000000 units per row");
  EXPECT_EQ(refused([](auto& info) { info.units_per_row = std::numeric_limits<double>::quiet_NaN(); }),
            "its info has nan units per row");
}

}  // namespace
}  // namespace baleen

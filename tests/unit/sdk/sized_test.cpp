/// \file Structs of the other side are written and read as far as their size says, by the helpers and by every table
/// that the SDK makes.
#include "baleen/sized.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "baleen/compute_table.hpp"
#include "baleen/data.hpp"
#include "support/plugin_under_test.hpp"
#include "support/sized_struct.hpp"

namespace baleen {

using namespace sdk;

namespace {

using test::SizedStruct;

struct Point {
  std::uint64_t size;
  std::int64_t x, y;
};

TEST(Sized, WritesNoMoreThanTheOtherSideHas) {
  for (const std::uint64_t size : {8, 12, 16, 24, 40}) {
    SizedStruct<Point> there(size);
    EXPECT_TRUE(copy_out(there.get(), Point{0, 5, 7}));
    EXPECT_EQ(there.get()->size, std::min<std::uint64_t>(size, sizeof(Point)));
    EXPECT_TRUE(there.is_whole_behind(std::min<std::uint64_t>(size, sizeof(Point)))) << size;
    EXPECT_TRUE(size < 16 || there.get()->x == 5) << size;
    EXPECT_TRUE(size < 24 || there.get()->y == 7) << size;
  }
}

TEST(Sized, WritesNothingWhereNoSizeIsSet) {
  for (const std::uint64_t size : {0, 7}) {
    SizedStruct<Point> there(size);
    EXPECT_FALSE(copy_out(there.get(), Point{0, 5, 7}));
    EXPECT_EQ(there.get()->size, size);
    EXPECT_TRUE(there.is_whole_behind(sizeof(std::uint64_t)));
  }
}

TEST(Sized, ReadsAsZeroWhatTheOtherSideLacks) {
  const Point given{16, 5, 7};
  const Point taken = copy_in(&given);
  EXPECT_EQ(taken.size, 16u);
  EXPECT_EQ(taken.x, 5);
  EXPECT_EQ(taken.y, 0);
  const Point unset{0, 5, 7};
  EXPECT_EQ(copy_in(&unset).size, 0u);
  EXPECT_EQ(copy_in(&unset).x, 0);
}

/// Of a newer side, whose elements are longer.
TEST(Sized, FindsElementsByTheFirstOnesSize) {
  struct Longer {
    Point point;
    std::int64_t more;
  };
  Longer list[3] = {{{sizeof(Longer), 1, 2}, 9}, {{sizeof(Longer), 3, 4}, 9}, {{sizeof(Longer), 5, 6}, 9}};
  EXPECT_EQ(element(&list[0].point, 2).x, 5);
  element(&list[0].point, 1).y = 40;
  EXPECT_EQ(list[1].point.y, 40);
}

class Rows : public Dataset {
 public:
  static Result<std::unique_ptr<Rows>> create(const Host&, const Settings&) { return std::make_unique<Rows>(); }
  Result<baleen_dataset_info_t> info() const override {
    baleen_dataset_info_t info{};
    info.field_count = 1;
    info.units_per_row = 3;
    copy_text(info.summary, "rows");
    return info;
  }
  Status read(baleen_split_t, std::int64_t, std::int64_t, void* const*) const override { return {}; }
};

TEST(SizedTables, OfDataFillAnOlderInfo) {
  const test::TestHost host;
  const baleen_settings_t settings{sizeof settings, 0, nullptr, 0, {"", 0}, 0, 1};
  const baleen_data_t table = data_table<Rows>();
  void* dataset = nullptr;
  ASSERT_EQ(table.create(host.get(), &settings, &dataset), BALEEN_OK) << host.failure();
  const std::uint64_t older = offsetof(baleen_dataset_info_t, unit);
  SizedStruct<baleen_dataset_info_t> info(older);
  EXPECT_EQ(table.info(dataset, info.get()), BALEEN_OK);
  EXPECT_EQ(info.get()->size, older);
  EXPECT_EQ(info.get()->units_per_row, 3);
  EXPECT_TRUE(info.is_whole_behind(older));
  SizedStruct<baleen_dataset_info_t> unset(0);
  EXPECT_EQ(table.info(dataset, unset.get()), BALEEN_INVALID);
  EXPECT_EQ(host.failure(), "info: the struct's `size` is not set; set it to sizeof the struct before the call");
  table.destroy(dataset);
}

/// A device of which only what fills structs does something.
class Filling {
 public:
  explicit Filling(const Host& host) : host_(host) {}
  static Result<std::unique_ptr<Filling>> create(const Host& host, const Settings&) {
    return std::make_unique<Filling>(host);
  }
  const Host& host() const { return host_; }
  void info(baleen_device_info_t& out) const {
    out.memory_bytes = 11;
    out.alignment = 64;
  }
  Result<void*> arena_create(baleen_arena_kind_t, std::uint64_t) { return unsupported(""); }
  void arena_destroy(baleen_arena_kind_t, void*, std::uint64_t) {}
  std::uint32_t supports(const baleen_region_t&) const { return 1; }
  Result<baleen_kernel_t> compile(const baleen_region_t&) {
    baleen_kernel_t kernel{};
    kernel.kernel = this;
    kernel.scratch_bytes = 5;
    kernel.flops = 7;
    return kernel;
  }
  void release(void*) {}
  Status launch(void*, const baleen_launch_t&) { return {}; }
  Result<void*> stream_create() { return unsupported(""); }
  void stream_destroy(void*) {}
  Status stream_wait(void*, baleen_event_t&, std::uint64_t) { return {}; }
  Status stream_signal(void*, baleen_event_t&, std::uint64_t) { return {}; }
  Status synchronize(void*) { return {}; }
  Status copy(void*, void*, const void*, std::uint64_t) { return {}; }
  Status zero(void*, void*, std::uint64_t) { return {}; }
  const void* query(std::string_view) const { return nullptr; }

 private:
  Host host_;
};

TEST(SizedTables, OfComputeFillOlderStructs) {
  const test::TestHost host;
  const baleen_settings_t settings{sizeof settings, 0, nullptr, 0, {"", 0}, 0, 1};
  const baleen_compute_t table = compute_table<Filling>();
  void* device = nullptr;
  ASSERT_EQ(table.create(host.get(), &settings, &device), BALEEN_OK) << host.failure();

  const std::uint64_t older_info = offsetof(baleen_device_info_t, threads);
  SizedStruct<baleen_device_info_t> info(older_info);
  EXPECT_EQ(table.info(device, info.get()), BALEEN_OK);
  EXPECT_EQ(info.get()->size, older_info);
  EXPECT_EQ(info.get()->memory_bytes, 11u);
  EXPECT_TRUE(info.is_whole_behind(older_info));

  const std::uint64_t older_kernel = offsetof(baleen_kernel_t, flops);
  const baleen_region_t region{sizeof region, nullptr, 0, nullptr, 0, nullptr};
  SizedStruct<baleen_kernel_t> kernel(older_kernel);
  EXPECT_EQ(table.compile(device, &region, kernel.get()), BALEEN_OK);
  EXPECT_EQ(kernel.get()->size, older_kernel);
  EXPECT_EQ(kernel.get()->scratch_bytes, 5u);
  EXPECT_TRUE(kernel.is_whole_behind(older_kernel));
  SizedStruct<baleen_kernel_t> unset(0);
  EXPECT_EQ(table.compile(device, &region, unset.get()), BALEEN_INVALID);
  table.destroy(device);
}

TEST(SizedTables, GoToAnOlderHost) {
  const test::TestHost host;
  const std::uint64_t older = offsetof(baleen_data_t, query);
  SizedStruct<baleen_data_t> table(older);
  EXPECT_EQ(give_table(host.get(), table.get(), data_table<Rows>()), BALEEN_OK);
  EXPECT_EQ(table.get()->size, older);
  EXPECT_NE(table.get()->read, nullptr);
  EXPECT_TRUE(table.is_whole_behind(older));
}

}  // namespace
}  // namespace baleen

/// \file No function of a table that the SDK makes lets an exception out, whatever a member throws.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <new>
#include <stdexcept>
#include <system_error>

#include "baleen/checkpoint.hpp"
#include "baleen/compute_table.hpp"
#include "baleen/launcher.hpp"
#include "baleen/offload.hpp"
#include "baleen/optimizer.hpp"
#include "baleen/strategy.hpp"
#include "baleen/transport.hpp"
#include "support/plugin_under_test.hpp"

namespace baleen {

using namespace sdk;

namespace {

const baleen_settings_t kNone{sizeof kNone, 0, nullptr, 0, {"", 0}, 0, 1};

[[noreturn]] void fail() { throw std::runtime_error("on fire"); }
/// Where a base has a `fail` of its own.
[[noreturn]] void burn() { fail(); }

class Guard : public testing::Test {
 protected:
  /// That a function which returns nothing wrote its exception to the log.
  void expect_logged(const std::string& function) {
    ASSERT_EQ(host_.logged().size(), ++logged_) << function;
    EXPECT_EQ(host_.logged().back(), function + " threw an exception: on fire");
  }
  test::TestHost host_;
  std::size_t logged_ = 0;
};

class BadOptimizer : public Optimizer {
 public:
  static Result<std::unique_ptr<BadOptimizer>> create(const Host&, const Settings&) {
    return std::make_unique<BadOptimizer>();
  }
  baleen_optimizer_traits_t traits() const override { fail(); }
  Result<std::vector<Slot>> slots(const Settings&) const override { fail(); }
  Result<NewValues> update(const Update&) override { fail(); }
};

TEST_F(Guard, OfAnOptimizerAnswersWithAFailure) {
  const baleen_optimizer_t table = optimizer_table<BadOptimizer>();
  void* self = nullptr;
  ASSERT_EQ(table.create(host_.get(), &kNone, &self), BALEEN_OK);
  EXPECT_EQ(table.traits(self), 0u);
  EXPECT_EQ(host_.failure(), "on fire");
  table.destroy(self);
}

/// A limit of the machine is nobody's bug.
TEST_F(Guard, TellsMemoryAndThreadsThatRunOutFromBugs) {
  const auto status_of = [&](const auto& thrown) {
    return guard(Host(host_.get()), [&]() -> Status { throw thrown; });
  };
  EXPECT_EQ(status_of(std::bad_alloc()), BALEEN_NO_MEMORY);
  const auto no_thread = std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  EXPECT_EQ(status_of(no_thread), BALEEN_NO_MEMORY);
  EXPECT_NE(host_.failure().find("no more threads"), std::string::npos) << host_.failure();
  EXPECT_EQ(status_of(std::system_error(std::make_error_code(std::errc::permission_denied))), BALEEN_INTERNAL);
  EXPECT_EQ(status_of(std::runtime_error("on fire")), BALEEN_INTERNAL);
}

class BadStrategy : public Strategy {
 public:
  static Result<std::unique_ptr<BadStrategy>> create(const Host&, const Settings&, MeshView) {
    return std::make_unique<BadStrategy>();
  }
  bool claims(std::uint32_t) const override { fail(); }
};

TEST_F(Guard, OfAStrategyClaimsNothing) {
  const baleen_strategy_t table = strategy_table<BadStrategy>();
  const baleen_mesh_t mesh{sizeof mesh, nullptr, 0};
  void* self = nullptr;
  ASSERT_EQ(table.create(host_.get(), &kNone, &mesh, &self), BALEEN_OK);
  EXPECT_EQ(table.claims(self, 0), 0u);
  EXPECT_EQ(host_.failure(), "on fire");
  table.destroy(self);
}

template <bool registers>
class BadTransport : public Transport {
 public:
  static constexpr bool kRegisters = registers;
  static Result<std::unique_ptr<BadTransport>> create(const Host&, const Settings&, const Rendezvous&,
                                                      baleen_transport_flags_t) {
    return std::make_unique<BadTransport>();
  }
  Result<void*> allocate(std::uint64_t) override { fail(); }
  void release(void*) override { fail(); }
  Status register_arena(void*, std::uint64_t) override { fail(); }
  void unregister_arena(void*) override { fail(); }
  Result<void*> group_create(std::vector<std::int32_t>) override { fail(); }
  void group_destroy(void*) override { fail(); }
  Result<void*> prepare(void*, const baleen_collective_spec_t&) override { fail(); }
  Status start(void*, baleen_event_t*, std::uint64_t, baleen_event_t*, std::uint64_t) override { fail(); }
  Status check() override { fail(); }
  void abort(std::string_view) override { fail(); }
  const void* query(std::string_view) override { fail(); }
  static const void* query_plugin(std::string_view) { fail(); }
};

TEST_F(Guard, OfATransportLogs) {
  const baleen_transport_t table = transport_table<BadTransport<false>>(),
                           other = transport_table<BadTransport<true>>();
  void* self = nullptr;
  ASSERT_EQ(table.create(host_.get(), &kNone, nullptr, 0, &self), BALEEN_OK);
  table.release(self, nullptr);
  expect_logged("release");
  table.group_destroy(self, nullptr);
  expect_logged("group_destroy");
  table.abort(self, abi(""));
  expect_logged("abort");
  other.unregister_arena(self, nullptr);
  expect_logged("unregister_arena");
  EXPECT_EQ(table.query(self, abi("power/1")), nullptr);
  EXPECT_EQ(host_.failure(), "on fire");
  EXPECT_EQ(table.query(nullptr, abi("power/1")), nullptr);
  EXPECT_EQ(table.check(self), BALEEN_INTERNAL);
  table.destroy(self);
}

/// Its destructor throws too.
class BadDevice {
 public:
  explicit BadDevice(const Host& host) : host_(host) {}
  ~BadDevice() noexcept(false) { fail(); }  // NOLINT(bugprone-exception-escape)
  static Result<std::unique_ptr<BadDevice>> create(const Host& host, const Settings&) {
    return std::make_unique<BadDevice>(host);
  }
  const Host& host() const { return host_; }
  void info(baleen_device_info_t&) const { fail(); }
  Result<void*> arena_create(baleen_arena_kind_t, std::uint64_t) { fail(); }
  void arena_destroy(baleen_arena_kind_t, void*, std::uint64_t) { fail(); }
  std::uint32_t supports(const baleen_region_t&) const { fail(); }
  Result<baleen_kernel_t> compile(const baleen_region_t&) { fail(); }
  void release(void*) { fail(); }
  Status launch(void*, const baleen_launch_t&) { fail(); }
  Result<void*> stream_create() { fail(); }
  void stream_destroy(void*) { fail(); }
  Status stream_wait(void*, baleen_event_t&, std::uint64_t) { fail(); }
  Status stream_signal(void*, baleen_event_t&, std::uint64_t) { fail(); }
  Status synchronize(void*) { fail(); }
  Status copy(void*, void*, const void*, std::uint64_t) { fail(); }
  Status zero(void*, void*, std::uint64_t) { fail(); }
  const void* query(std::string_view) const { fail(); }

 private:
  Host host_;
};

TEST_F(Guard, OfADeviceLogs) {
  const baleen_compute_t table = compute_table<BadDevice>();
  void* self = nullptr;
  ASSERT_EQ(table.create(host_.get(), &kNone, &self), BALEEN_OK);
  const baleen_region_t region{sizeof region, nullptr, 0, nullptr, 0, nullptr};
  EXPECT_EQ(table.supports(self, &region), 0u);
  EXPECT_EQ(table.query(self, abi("power/1")), nullptr);
  table.arena_destroy(self, BALEEN_ARENA_PRIVATE, nullptr, 0);
  expect_logged("arena_destroy");
  table.release(self, nullptr);
  expect_logged("release");
  table.stream_destroy(self, nullptr);
  expect_logged("stream_destroy");
  table.destroy(self);
  expect_logged("destroy");
}

/// A destructor of its own that throws would not compile: the base says that it does not.
class BadReader : public CheckpointReader {
 public:
  const std::vector<StoredTensor>& tensors() const override { return tensors_; }
  const Facts& facts() const override { return facts_; }
  Status read(std::size_t, std::span<std::byte>) const override { fail(); }

 private:
  const std::vector<StoredTensor> tensors_ = {StoredTensor{}};
  const Facts facts_;
};

struct BadCheckpoint {
  static Status write(const Host&, std::string_view, std::span<const baleen_named_tensor_t>, const Facts&) { fail(); }
  static Result<std::unique_ptr<CheckpointReader>> open(const Host&, std::string_view) {
    return std::unique_ptr<CheckpointReader>(std::make_unique<BadReader>());
  }
};

TEST_F(Guard, OfACheckpointAnswersWithAFailure) {
  const baleen_checkpoint_t table = checkpoint_table<BadCheckpoint>();
  EXPECT_EQ(table.write(host_.get(), abi("x"), nullptr, 0, nullptr, 0), BALEEN_INTERNAL);
  void* reader = nullptr;
  ASSERT_EQ(table.open(host_.get(), abi("x"), &reader), BALEEN_OK);
  EXPECT_EQ(table.read(reader, 0, nullptr, 0), BALEEN_INTERNAL);
  EXPECT_EQ(host_.failure(), "on fire");
  table.close(reader);
}

class BadStore : public OffloadStore {
 public:
  static constexpr bool kMaps = true;
  static Result<std::unique_ptr<BadStore>> create(const Host&, const Settings&, OffloadSpec spec) {
    return std::make_unique<BadStore>(std::move(spec));
  }
  explicit BadStore(OffloadSpec spec) : OffloadStore(std::move(spec), {64, 64, 1 << 20, "memory"}) {}
  const void* query(std::string_view) override { burn(); }

 protected:
  Status extend(std::uint64_t begin, std::uint64_t) override {
    if (begin > 0) burn();
    return {};
  }
  void give_back(std::uint64_t) override { burn(); }
  baleen_offload_flags_t flags() const override { burn(); }
  std::uint64_t overhead() const override { burn(); }
  void* address(std::uint64_t) override { burn(); }
  bool is_short(const baleen_offload_transfer_t&) const override { burn(); }
};

TEST_F(Guard, OfAnOffloadStoreAnswersWithAFailure) {
  const baleen_offload_t table = offload_table<BadStore>();
  const baleen_offload_spec_t spec{sizeof spec, 0, 1, 0, nullptr, abi("")};
  void* self = nullptr;
  ASSERT_EQ(table.create(host_.get(), &kNone, &spec, &self), BALEEN_OK) << host_.failure();
  const baleen_offload_slot_t slot{sizeof slot, abi("w"), 64};
  ASSERT_EQ(table.reserve(self, &slot, 1), BALEEN_OK) << host_.failure();
  EXPECT_EQ(table.reserve(self, &slot, 1), BALEEN_INTERNAL);
  EXPECT_EQ(host_.failure(), "on fire");
  alignas(64) std::array<std::byte, 64> memory{};
  baleen_event_t done{};
  const baleen_offload_transfer_t transfer{sizeof transfer, 0, 0, 0, 64, memory.data(), nullptr, 0, &done, 1};
  EXPECT_EQ(table.put(self, &transfer), BALEEN_INTERNAL) << host_.failure();
  EXPECT_EQ(host_.failure(), "on fire");
  baleen_offload_info_t info{};
  info.size = sizeof info;
  EXPECT_EQ(table.describe(self, &info), BALEEN_INTERNAL);
  void* base = nullptr;
  EXPECT_EQ(table.map(self, 0, &base), BALEEN_INTERNAL);
  EXPECT_EQ(table.query(self, abi("power/1")), nullptr);
  EXPECT_EQ(host_.failure(), "on fire");
  table.destroy(self);
}

class BadLauncher : public Launcher {
 public:
  static bool fits(const LaunchView&) { burn(); }
  static Result<std::unique_ptr<BadLauncher>> create(const Host&, const Settings&, const LaunchView&) {
    return std::make_unique<BadLauncher>();
  }
  LaunchPlace place() override { burn(); }
  Status put(std::string_view, std::string_view) override { burn(); }
  Result<std::string> get(std::string_view) override { burn(); }
  Status fence(std::string_view) override { burn(); }
  bool fail(const Error&, const std::vector<std::string>&) override { burn(); }
  Status finish() override { burn(); }
  void beat(const baleen_progress_t&) override { burn(); }
  void watch(std::function<void(const std::string&)>) override { burn(); }
  Status start(const baleen_launch_start_t&, baleen_outcome_t&) { burn(); }
  static Status make_secret(const std::string&) { burn(); }
};

TEST_F(Guard, OfALauncherAnswersWithAFailureAndLogs) {
  const baleen_launcher_t table = launcher_table<BadLauncher>();
  baleen_launch_job_t job{};
  job.size = sizeof job;
  EXPECT_EQ(table.fits(host_.get(), &job), 0);
  EXPECT_EQ(host_.failure(), "on fire");
  EXPECT_EQ(table.make_secret(host_.get(), abi("x")), BALEEN_INTERNAL);
  void* self = nullptr;
  ASSERT_EQ(table.create(host_.get(), &kNone, &job, &self), BALEEN_OK);
  baleen_place_t place{};
  place.size = sizeof place;
  EXPECT_EQ(table.place(self, &place), BALEEN_INTERNAL);
  EXPECT_EQ(table.put(self, abi("k"), abi("v")), BALEEN_INTERNAL);
  EXPECT_EQ(table.get(
                self, abi("k"), [](void*, baleen_string_t) {}, nullptr),
            BALEEN_INTERNAL);
  EXPECT_EQ(table.fence(self, abi("k")), BALEEN_INTERNAL);
  baleen_rank_failure_t failure{};
  failure.size = sizeof failure;
  EXPECT_EQ(table.fail(self, &failure), 0);
  EXPECT_EQ(table.finish(self), BALEEN_INTERNAL);
  EXPECT_EQ(table.watch(
                self, [](void*, baleen_string_t) {}, nullptr),
            BALEEN_INTERNAL);
  baleen_launch_start_t start{};
  start.size = sizeof start;
  baleen_outcome_t outcome{};
  outcome.size = sizeof outcome;
  EXPECT_EQ(table.start(self, &start, &outcome), BALEEN_INTERNAL);
  const baleen_progress_t progress{};
  table.beat(self, &progress);
  expect_logged("beat");
  table.destroy(self);
}

/// Makes nothing and says that all went well.
template <class Base, class... Arguments>
struct Nothing : Base {
  static Result<std::unique_ptr<Base>> create(const Host&, const Settings&, Arguments...) {
    return std::unique_ptr<Base>();
  }
};

struct NoReader {
  static Status write(const Host&, std::string_view, std::span<const baleen_named_tensor_t>, const Facts&) {
    return {};
  }
  static Result<std::unique_ptr<CheckpointReader>> open(const Host&, std::string_view) {
    return std::unique_ptr<CheckpointReader>();
  }
};

TEST_F(Guard, RefusesWhatCreatesNothing) {
  void* self = nullptr;
  EXPECT_EQ(optimizer_table<Nothing<Optimizer>>().create(host_.get(), &kNone, &self), BALEEN_INTERNAL);
  EXPECT_EQ(host_.failure(), "create gave no object and no error");
  const baleen_mesh_t mesh{sizeof mesh, nullptr, 0};
  EXPECT_EQ((strategy_table<Nothing<Strategy, MeshView>>().create(host_.get(), &kNone, &mesh, &self)), BALEEN_INTERNAL);
  EXPECT_EQ(checkpoint_table<NoReader>().open(host_.get(), abi("x"), &self), BALEEN_INTERNAL);
  EXPECT_EQ(host_.failure(), "open gave no reader and no error");
}

}  // namespace
}  // namespace baleen

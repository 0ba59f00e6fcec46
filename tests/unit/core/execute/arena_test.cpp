/// \file Whose memory an arena for collectives is.
#include <gtest/gtest.h>

#include "emulated_device.hpp"

namespace baleen {
namespace {

/// Has memory on the device as long as it is leased, or says why not.
class LandedTransport final : public OpenTransport {
 public:
  /// What happens to it, in order.
  std::vector<std::string> calls;
  Status has_memory;

  bool allocates() const override { return true; }
  bool registers() const override { return true; }
  Result<void*> allocate(std::uint64_t) override { return internal("memory of the host, which is not asked for"); }
  void release(void*) override { calls.push_back("release"); }
  Status register_arena(void*, std::uint64_t) override {
    calls.push_back("register");
    return {};
  }
  void unregister_arena(void*) override { calls.push_back("unregister"); }
  Result<Lease> lease(void*, const baleen_compute_t&) override {
    calls.push_back("use");
    return Lease(this, [this](void*) { calls.push_back("leave"); });
  }
  Result<void*> allocate_on_device(std::uint64_t bytes) override {
    BALEEN_TRY(has_memory);
    calls.push_back("allocate " + std::to_string(bytes));
    return static_cast<void*>(this);
  }
  void release_on_device(void* base) override { calls.push_back(base == this ? "free" : "free what is another's"); }
  Result<void*> group_create(std::vector<std::int32_t>) override { return static_cast<void*>(this); }
  void group_destroy(void*) override {}
  Result<void*> prepare(void*, const baleen_collective_spec_t&) override { return static_cast<void*>(this); }
  Status start(void*, baleen_event_t*, std::uint64_t, baleen_event_t*, std::uint64_t) override { return {}; }
  Status check() override { return {}; }
  void abort(std::string_view) override {}
};

class SharedArena : public testing::Test {
 protected:
  using Calls = std::vector<std::string>;

  const std::unique_ptr<Device> device_ = emulated_device();
  LandedTransport* const transport_ = new LandedTransport;
  const std::unique_ptr<Communicator> communicator_ =
      take(Communicator::create(std::unique_ptr<OpenTransport>(transport_), 0, {{{"data", 1}}}, {}));
};

TEST_F(SharedArena, IsTheTransportsMemoryOnTheDeviceUntilItGoes) {
  {
    Arena arena = take(Arena::create_shared(*device_, *communicator_, 5000));
    EXPECT_EQ(arena.base(), transport_);
    const Arena moved = std::move(arena);
    EXPECT_EQ(transport_->calls, (Calls{"use", "allocate 5000"}));
    EXPECT_EQ(moved.bytes(), 5000u);
  }
  EXPECT_EQ(transport_->calls, (Calls{"use", "allocate 5000", "free", "leave"}));
}

TEST_F(SharedArena, IsTheDevicesWhereTheTransportHasNone) {
  transport_->has_memory = unsupported("none here");
  { EXPECT_NE(take(Arena::create_shared(*device_, *communicator_, 5000)).base(), nullptr); }
  EXPECT_EQ(transport_->calls, (Calls{"use", "leave", "register", "unregister"}));
}

TEST_F(SharedArena, FailsWhereTheTransportsMemoryDoes) {
  transport_->has_memory = Error{BALEEN_NO_MEMORY, "it is full", {}};
  const auto arena = Arena::create_shared(*device_, *communicator_, 5000);
  ASSERT_FALSE(arena);
  EXPECT_EQ(arena.error().message, "it is full");
  EXPECT_EQ(transport_->calls, (Calls{"use", "leave"}));
}

}  // namespace
}  // namespace baleen

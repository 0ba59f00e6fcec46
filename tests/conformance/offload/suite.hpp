/// \file The parameters of the suite: every offload backend that was built, in each of its ways to work, and a store of
/// it as a test drives it.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "baleen/event.hpp"
#include "baleen/offload.h"
#include "support/plugin_under_test.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::conformance {

/// Long enough for a busy machine; a wait that takes so long has hung.
inline constexpr double kLong = 50;

struct Member {
  std::string name, variant;
  std::vector<std::pair<std::string, std::string>> options = {};
  int folders = 0;  ///< for swap files
  std::string text() const { return name + (variant.empty() ? "" : "_" + variant); }
};
inline void PrintTo(const Member& member, std::ostream* out) { *out << member.text(); }

/// A backend with several ways is one member for each.
inline std::vector<Member> members() {
  std::vector<Member> all;
  for (const std::string& name : test::built_members("offload")) {
    if (name == "nvme") {
      all.push_back({name, "uring", {}, 1});
      all.push_back({name, "threads", {{"engine", "threads"}}, 1});
      all.push_back({name, "buffered", {{"direct", "false"}}, 1});
      all.push_back({name, "striped", {{"stripe", "8192"}, {"request", "16384"}, {"depth", "3"}}, 3});
    } else {
      all.push_back({name, ""});
      if (name == "host") all.push_back({name, "threads", {{"threads", "3"}, {"huge_pages", "false"}}});
    }
  }
  return all;
}

/// Memory at a multiple of `alignment`, or one byte beside it.
class Memory {
 public:
  explicit Memory(std::size_t bytes, std::size_t alignment = 4096, bool aligned = true)
      : data_(static_cast<std::byte*>(std::aligned_alloc(alignment, (bytes / alignment + 2) * alignment)), &std::free),
        shift_(aligned ? 0 : 1) {}
  std::byte* get() const { return data_.get() + shift_; }

 private:
  std::unique_ptr<std::byte, decltype(&std::free)> data_;
  std::size_t shift_;
};

/// A store; what fails that a test has not asked for throws.
class Store {
 public:
  explicit Store(const Member& member, std::uint64_t budget = 0, std::uint32_t outstanding = 32,
                 const baleen_offload_pinning_t* pinning = nullptr)
      : plugin(test::built_plugin("offload", member.name)) {
    test::TestSettings settings(plugin.descriptor, folder.path());
    std::string paths;
    for (int i = 0; i < member.folders; ++i) {
      std::filesystem::create_directories(folder / ("disk" + std::to_string(i)));
      paths += (i ? "\ndisk" : "disk") + std::to_string(i);
    }
    if (member.folders) settings.set("path", paths);
    for (const auto& [name, text] : member.options) settings.set(name, text);
    const baleen_offload_spec_t spec = {sizeof spec, budget, outstanding, 0, pinning, abi("rank 3")};
    expect_ok(plugin.table.create(plugin.host->get(), settings.get(), &spec, &store_));
  }
  Store(const Store&) = delete;
  ~Store() { destroy(); }
  void destroy() {
    if (store_) plugin.table.destroy(std::exchange(store_, nullptr));
  }

  void expect_ok(baleen_status_t status) const {
    if (status != BALEEN_OK) throw std::runtime_error(plugin.host->failure());
  }
  baleen_status_t try_reserve(const std::vector<std::uint64_t>& bytes) const {
    std::vector<baleen_offload_slot_t> slots;
    for (const std::uint64_t one : bytes) slots.push_back({sizeof(baleen_offload_slot_t), abi("weight"), one});
    return plugin.table.reserve(store_, slots.data(), slots.size());
  }
  void reserve(const std::vector<std::uint64_t>& bytes) const { expect_ok(try_reserve(bytes)); }
  baleen_offload_info_t info() const {
    baleen_offload_info_t info{};
    info.size = sizeof info;
    expect_ok(plugin.table.describe(store_, &info));
    return info;
  }
  static baleen_offload_transfer_t transfer(std::uint32_t slot, std::uint64_t offset, std::uint64_t bytes,
                                            std::byte* memory, baleen_event_t* done, std::uint64_t value = 1) {
    return {sizeof(baleen_offload_transfer_t), slot, 0, offset, bytes, memory, nullptr, 0, done, value};
  }
  baleen_status_t try_put(const baleen_offload_transfer_t& transfer) const {
    return plugin.table.put(store_, &transfer);
  }
  baleen_status_t try_get(const baleen_offload_transfer_t& transfer) const {
    return plugin.table.get(store_, &transfer);
  }
  /// Waits for it; throws its failure.
  void put(std::uint32_t slot, std::uint64_t offset, std::uint64_t bytes, std::byte* memory) const {
    baleen_event_t done{};
    expect_ok(try_put(transfer(slot, offset, bytes, memory, &done)));
    await(done, slot);
  }
  void get(std::uint32_t slot, std::uint64_t offset, std::uint64_t bytes, std::byte* memory) const {
    baleen_event_t done{};
    expect_ok(try_get(transfer(slot, offset, bytes, memory, &done)));
    await(done, slot);
  }
  void await(baleen_event_t& done, std::uint32_t slot, std::uint64_t value = 1) const {
    if (!event_wait(done, value, kLong)) throw std::runtime_error("an operation hangs");
    if (event_value(done) == BALEEN_EVENT_FAILED) expect_ok(plugin.table.check(store_, slot));
  }
  void* get_handle() const { return store_; }

  test::PluginUnderTest<baleen_offload_t> plugin;
  test::TemporaryFolder folder;

 private:
  void* store_ = nullptr;
};

class OffloadSuite : public testing::TestWithParam<Member> {};

/// A file name for a parameter.
#define BALEEN_OFFLOAD_SUITE(Suite)                                      \
  INSTANTIATE_TEST_SUITE_P(Members, Suite, testing::ValuesIn(members()), \
                           [](const auto& info) { return info.param.text(); })

}  // namespace baleen::conformance

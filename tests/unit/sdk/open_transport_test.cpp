/// \file What a host asks of a transport's table about memory, also where the table is an older plugin's.
#include "baleen/open_transport.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace baleen {
namespace {

constexpr baleen_operations_t kSome = BALEEN_OPERATION(BALEEN_SEND) | BALEEN_OPERATION(BALEEN_RECEIVE);

/// What the plugin answers to the query.
std::optional<baleen_transport_memory_t>& answer() {
  static std::optional<baleen_transport_memory_t> one;
  return one;
}

baleen_transport_memory_t memory(std::int32_t takes, std::uint64_t size = sizeof(baleen_transport_memory_t)) {
  static std::int32_t all;
  all = takes;
  return {size, [](void*, baleen_string_t) { return all; },
          [](const baleen_host_t*, const baleen_settings_t*, baleen_string_t) { return all; },
          [](void*, baleen_string_t) { return kSome; },
          [](const baleen_host_t*, const baleen_settings_t*, baleen_string_t) { return kSome; }};
}

baleen_transport_t table() {
  baleen_transport_t made{};
  made.size = sizeof made;
  made.create = [](const baleen_host_t*, const baleen_settings_t*, const baleen_rendezvous_t*, baleen_transport_flags_t,
                   void**) -> baleen_status_t { return BALEEN_OK; };
  made.query = [](void*, baleen_string_t name) -> const void* {
    return view(name) == BALEEN_TRANSPORT_MEMORY && answer() ? &*answer() : nullptr;
  };
  return made;
}

/// The answer of one that is made, which is also that before it is made.
baleen_operations_t asked() {
  const baleen_rendezvous_t rendezvous{};
  const baleen_settings_t settings{};
  const auto made = TableTransport::create(table(), nullptr, settings, rendezvous, {});
  const baleen_operations_t operations = (*made)->takes_operations("cuda");
  EXPECT_EQ(TableTransport::would_take_operations(table(), nullptr, settings, "cuda"), operations);
  return operations;
}

TEST(OpenTransport, TakesNothingWhereNobodySaysSo) {
  answer().reset();
  EXPECT_EQ(asked(), 0u);
}

TEST(OpenTransport, TakesAllOrSome) {
  answer() = memory(1);
  EXPECT_EQ(asked(), kAllOperations);
  answer() = memory(0);
  EXPECT_EQ(asked(), kSome);
  for (std::int32_t op = BALEEN_ALL_REDUCE; op <= BALEEN_BARRIER; ++op)
    EXPECT_NE(kAllOperations & BALEEN_OPERATION(op), 0u) << op;
}

/// What lies behind its end is not looked at.
TEST(OpenTransport, TakesAllOrNothingOfAnOlderPlugin) {
  constexpr std::uint64_t kOlder = offsetof(baleen_transport_memory_t, takes_operations);
  answer() = memory(1, kOlder);
  EXPECT_EQ(asked(), kAllOperations);
  answer() = memory(0, kOlder);
  EXPECT_EQ(asked(), 0u);
}

}  // namespace
}  // namespace baleen

/// \file An offload store in the hands of a case, and memory that shows what was written beside it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "baleen/event.hpp"
#include "baleen/offload.h"
#include "frontend/validate/subject.hpp"

namespace baleen::validate {

/// Bytes with a guard on both sides, one byte off any alignment where `odd`.
class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t bytes, bool odd = false);
  unsigned char* data() { return all_.data() + begin_; }
  std::size_t size() const { return bytes_; }
  /// Bytes that hang on `seed` and on where they stand.
  void fill(std::uint64_t seed);
  bool holds(std::uint64_t seed) const;
  bool is_zero() const;
  /// Whether nothing was written beside them.
  bool is_alone() const;

 private:
  std::vector<unsigned char> all_;
  std::size_t begin_, bytes_;
};

struct StoreOptions {
  std::uint64_t budget = 0;
  std::uint32_t outstanding = 32;
  const baleen_offload_pinning_t* pinning = nullptr;
};

/// A store of the subject's options. Throws Failure; Skip where its place does not exist here. A case that leaves
/// operations under way makes it after their memory and events: a Failure ends it first.
class Store {
 public:
  Store(const Subject& subject, Mark& mark, StoreOptions options = {});
  Store(const Store&) = delete;
  ~Store() noexcept(false);  // NOLINT(*exception-escape)

  void destroy();
  const Opened& plugin() const { return plugin_; }
  const baleen_offload_t& table() const { return plugin_.table<baleen_offload_t>(); }
  void* get() const { return handle_; }

  baleen_status_t try_reserve(const std::vector<std::uint64_t>& bytes);
  void reserve(const std::vector<std::uint64_t>& bytes);
  baleen_offload_info_t info();
  std::uint64_t alignment() { return info().alignment; }

  static baleen_offload_transfer_t transfer(std::uint32_t slot, std::uint64_t offset, std::uint64_t bytes, void* memory,
                                            baleen_event_t* done, std::uint64_t value = 1);
  baleen_status_t try_start(bool is_put, const baleen_offload_transfer_t& transfer);
  void start(bool is_put, const baleen_offload_transfer_t& transfer);
  /// Waits until the event has that value, no more and no less; throws what `check` says of a failure.
  void await(baleen_event_t& done, std::uint32_t slot, std::uint64_t value = 1);
  void put(std::uint32_t slot, std::uint64_t offset, std::uint64_t bytes, void* memory);
  void read(std::uint32_t slot, std::uint64_t offset, std::uint64_t bytes, void* memory);

 private:
  Opened plugin_;
  SettingsStorage settings_;
  void* handle_ = nullptr;
};

/// A case's own name for where bytes lie: "slot 3, bytes 0 to 99".
std::string bytes_text(std::uint32_t slot, std::uint64_t offset, std::uint64_t bytes);

}  // namespace baleen::validate

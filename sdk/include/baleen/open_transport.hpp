/// \file A transport that is open already, as those drive it who use one: the program, and transports made of others.
#pragma once
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "baleen/native_events.h"
#include "baleen/sized.hpp"
#include "baleen/transport.hpp"

namespace baleen {

/// Holds as long as one of it is there; null: there is nothing to hold.
using Lease = std::shared_ptr<void>;

/// The contracts stand in transport.h. Errors have their text.
class OpenTransport : public Transport {
 public:
  /// Whether it has memory of its own for arenas.
  virtual bool allocates() const = 0;
  /// Whether it gains by knowing memory of others.
  virtual bool registers() const = 0;
  /// Of what devices it wants the native events; empty: of none.
  virtual std::string_view native_runtime() const { return {}; }
  /// Hands it the native events of a device (native_events.h), where both have them, until the lease is over, which all
  /// callers share.
  virtual Result<Lease> lease(void* device, const baleen_compute_t& compute) {
    (void)device, (void)compute;
    return Lease();
  }
};

/// One that is driven through its table.
class TableTransport : public OpenTransport {
 public:
  /// Why a call of the table has returned this status on this thread, with the plugin's name.
  using Reason = std::function<Error(baleen_status_t)>;

  /// Collective over all ranks of the rendezvous. `table` and `host` are the plugin's.
  static Result<std::unique_ptr<OpenTransport>> create(const baleen_transport_t& table, const baleen_host_t* host,
                                                       const baleen_settings_t& settings,
                                                       const baleen_rendezvous_t& rendezvous, Reason reason) {
    std::unique_ptr<TableTransport> made(new TableTransport(table, std::move(reason)));
    BALEEN_TRY(made->checked(table.create(host, &settings, &rendezvous, 0, &made->self_)));
    made->memory_ = memory_of(made->table_);
    return std::unique_ptr<OpenTransport>(std::move(made));
  }
  /// Whether one that is made with these settings would take memory of this kind.
  static bool would_take(const baleen_transport_t& table, const baleen_host_t* host, const baleen_settings_t& settings,
                         std::string_view memory) {
    const std::optional<baleen_transport_memory_t> found = memory_of(table);
    return found && found->would_take(host, &settings, abi(memory)) != 0;
  }
  /// Which of its collectives would work there.
  static baleen_operations_t would_take_operations(const baleen_transport_t& table, const baleen_host_t* host,
                                                   const baleen_settings_t& settings, std::string_view memory) {
    if (would_take(table, host, settings, memory)) return kAllOperations;
    const std::optional<baleen_transport_memory_t> found = memory_of(table);
    return found && found->would_take_operations ? found->would_take_operations(host, &settings, abi(memory)) : 0;
  }
  ~TableTransport() override {
    if (self_) table_.destroy(self_);
  }

  bool allocates() const override { return table_.allocate != nullptr; }
  bool registers() const override { return table_.register_arena != nullptr; }
  bool takes(std::string_view memory) const override { return memory_ && memory_->takes(self_, abi(memory)) != 0; }
  baleen_operations_t takes_operations(std::string_view memory) const override {
    if (takes(memory)) return kAllOperations;
    return memory_ && memory_->takes_operations ? memory_->takes_operations(self_, abi(memory)) : 0;
  }
  Result<void*> allocate(std::uint64_t bytes) override {
    void* base = nullptr;
    BALEEN_TRY(checked(table_.allocate(self_, bytes, &base)));
    return base;
  }
  void release(void* base) override { table_.release(self_, base); }
  Status register_arena(void* base, std::uint64_t bytes) override {
    return checked(table_.register_arena(self_, base, bytes));
  }
  void unregister_arena(void* base) override { table_.unregister_arena(self_, base); }
  Result<void*> group_create(std::vector<std::int32_t> ranks) override {
    void* group = nullptr;
    BALEEN_TRY(checked(table_.group_create(self_, ranks.data(), ranks.size(), &group)));
    return group;
  }
  void group_destroy(void* group) override { table_.group_destroy(self_, group); }
  Result<void*> prepare(void* group, const baleen_collective_spec_t& spec) override {
    void* slot = nullptr;
    BALEEN_TRY(checked(table_.prepare(self_, group, &spec, &slot)));
    return slot;
  }
  Status start(void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
               std::uint64_t done_value) override {
    return checked(table_.start(self_, slot, after, after_value, done, done_value));
  }
  Status check() override { return checked(table_.check(self_)); }
  void abort(std::string_view reason) override { table_.abort(self_, abi(reason)); }
  std::string_view native_runtime() const override {
    const baleen_transport_native_t* wants = native();
    return wants ? view(wants->runtime) : std::string_view();
  }
  Result<Lease> lease(void* device, const baleen_compute_t& compute) override {
    if (Lease lease = used_.lock()) return lease;
    const baleen_transport_native_t* wants = native();
    const auto* events = static_cast<const baleen_native_events_t*>(
        wants && compute.query ? compute.query(device, abi(BALEEN_DEVICE_NATIVE_EVENTS)) : nullptr);
    if (!events || view(events->runtime) != view(wants->runtime)) return Lease();
    BALEEN_TRY(checked(wants->use(self_, device, &compute, events)));
    Lease lease(self_, wants->leave);
    used_ = lease;
    return lease;
  }
  Result<void*> allocate_on_device(std::uint64_t bytes) override {
    const auto own = device_memory();
    if (!own || !own->allocate || !own->release) return Transport::allocate_on_device(bytes);
    void* base = nullptr;
    BALEEN_TRY(checked(own->allocate(self_, bytes, &base)));
    return base;
  }
  void release_on_device(void* base) override { device_memory()->release(self_, base); }
  bool captures() const override { return captured_of().has_value(); }
  Status begin_capture() override { return checked(captured_of()->begin(self_)); }
  Result<void*> end_capture() override {
    void* capture = nullptr;
    BALEEN_TRY(checked(captured_of()->end(self_, &capture)));
    return capture;
  }
  Result<bool> agree_on(const std::vector<void*>& captures) override {
    std::int32_t agreed = 0;
    BALEEN_TRY(checked(captured_of()->agree(self_, captures.data(), captures.size(), &agreed)));
    return agreed != 0;
  }
  Status enter(void* capture, baleen_event_t* rests, std::uint64_t rests_value) override {
    return checked(captured_of()->enter(self_, capture, rests, rests_value));
  }
  Status replayed(void* capture, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
                  std::uint64_t done_value) override {
    return checked(captured_of()->replayed(self_, capture, after, after_value, done, done_value));
  }
  void release_capture(void* capture) override { captured_of()->release(self_, capture); }

 private:
  TableTransport(const baleen_transport_t& table, Reason reason) : reason_(std::move(reason)) {
    std::memcpy(&table_, &table, std::min<std::uint64_t>(table.size, sizeof table_));
  }
  static std::optional<baleen_transport_memory_t> memory_of(const baleen_transport_t& table) {
    const void* found = table.query ? table.query(nullptr, abi(BALEEN_TRANSPORT_MEMORY)) : nullptr;
    if (!found) return std::nullopt;
    return copy_in(static_cast<const baleen_transport_memory_t*>(found));
  }
  const baleen_transport_native_t* native() const {
    const void* found = table_.query ? table_.query(self_, abi(BALEEN_TRANSPORT_NATIVE)) : nullptr;
    return static_cast<const baleen_transport_native_t*>(found);
  }
  std::optional<baleen_transport_device_memory_t> device_memory() const {
    const void* found = table_.query ? table_.query(self_, abi(BALEEN_TRANSPORT_DEVICE_MEMORY)) : nullptr;
    if (!found) return std::nullopt;
    return copy_in(static_cast<const baleen_transport_device_memory_t*>(found));
  }
  std::optional<baleen_transport_captured_t> captured_of() const {
    const void* found = table_.query ? table_.query(self_, abi(BALEEN_TRANSPORT_CAPTURED)) : nullptr;
    if (!found) return std::nullopt;
    auto table = copy_in(static_cast<const baleen_transport_captured_t*>(found));
    if (!table.release) return std::nullopt;  // of a draft that had less
    return table;
  }
  Status checked(baleen_status_t status) const {
    if (status == BALEEN_OK) return {};
    return reason_(status);
  }

  baleen_transport_t table_{};
  const Reason reason_;
  void* self_ = nullptr;
  std::optional<baleen_transport_memory_t> memory_;
  std::weak_ptr<void> used_;  ///< a device's native events
};

}  // namespace baleen

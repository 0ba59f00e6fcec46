/// \file Calls of an offload store, each named and guarded.
#include "frontend/validate/offload_store.hpp"

#include <algorithm>
#include <utility>

#include "baleen/host.hpp"

namespace baleen::validate {
namespace {

constexpr std::size_t kGuard = 64;
constexpr unsigned char kUntouched = 0xa5;

unsigned char byte_of(std::uint64_t seed, std::size_t at) {
  return static_cast<unsigned char>((at + 1) * 0x9e3779b97f4a7c15u >> 56 ^ (seed * 37 + at));
}

}  // namespace

GuardedBytes::GuardedBytes(std::size_t bytes, bool odd)
    : all_(bytes + 2 * kGuard + 1, kUntouched), begin_(kGuard + (odd ? 1 : 0)), bytes_(bytes) {}

void GuardedBytes::fill(std::uint64_t seed) {
  for (std::size_t i = 0; i < bytes_; ++i) all_[begin_ + i] = byte_of(seed, i);
}

bool GuardedBytes::holds(std::uint64_t seed) const {
  for (std::size_t i = 0; i < bytes_; ++i)
    if (all_[begin_ + i] != byte_of(seed, i)) return false;
  return true;
}

bool GuardedBytes::is_zero() const {
  const auto begin = all_.begin() + static_cast<std::ptrdiff_t>(begin_);
  return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(bytes_), [](unsigned char byte) { return byte == 0; });
}

bool GuardedBytes::is_alone() const {
  for (std::size_t i = 0; i < all_.size(); ++i)
    if ((i < begin_ || i >= begin_ + bytes_) && all_[i] != kUntouched) return false;
  return true;
}

Store::Store(const Subject& subject, Mark& mark, StoreOptions options)
    : plugin_(subject, mark), settings_(settings_of(subject)) {
  const baleen_offload_spec_t spec = {sizeof spec, options.budget,  options.outstanding,
                                      0,           options.pinning, abi(std::string_view("rank 3"))};
  const baleen_status_t status =
      plugin_.call("`create`", table().create, plugin_.host(), settings_.get(), &spec, &handle_);
  if (status == BALEEN_UNSUPPORTED)
    throw Skip("no store can be made here: " + plugin_.refusal("`create`", status).message);
  if (status != BALEEN_OK) throw Failure("`create` fails: " + plugin_.refusal("`create`", status).message);
  if (!handle_) throw Failure("`create` returns OK and gives no store");
}

Store::~Store() noexcept(false) {  // NOLINT(*exception-escape): the case's verdict
  try {  // also after a Failure: what is under way uses memory and events of the case, which go next
    destroy();
  } catch (const Failure&) {
    if (std::uncaught_exceptions() == 0) throw;  // else the first one counts
  }
}

void Store::destroy() {
  const char* const name = std::uncaught_exceptions() == 0 ? "`destroy`" : "`destroy`, after the case had failed";
  if (handle_) plugin_.call(name, table().destroy, std::exchange(handle_, nullptr));
}

baleen_status_t Store::try_reserve(const std::vector<std::uint64_t>& bytes) {
  std::vector<baleen_offload_slot_t> slots;
  for (const std::uint64_t one : bytes)
    slots.push_back({sizeof(baleen_offload_slot_t), abi(std::string_view("weight")), one});
  return plugin_.call("`reserve`", table().reserve, handle_, static_cast<const baleen_offload_slot_t*>(slots.data()),
                      std::uint64_t{slots.size()});
}

void Store::reserve(const std::vector<std::uint64_t>& bytes) {
  const baleen_status_t status = try_reserve(bytes);
  if (status != BALEEN_OK) throw Failure("`reserve` fails: " + plugin_.refusal("`reserve`", status).message);
}

baleen_offload_info_t Store::info() {
  baleen_offload_info_t info{};
  info.size = sizeof info;
  plugin_.ok("`describe`", table().describe, handle_, &info);
  return info;
}

baleen_offload_transfer_t Store::transfer(std::uint32_t slot, std::uint64_t offset, std::uint64_t bytes, void* memory,
                                          baleen_event_t* done, std::uint64_t value) {
  return {sizeof(baleen_offload_transfer_t), slot, 0, offset, bytes, memory, nullptr, 0, done, value};
}

baleen_status_t Store::try_start(bool is_put, const baleen_offload_transfer_t& transfer) {
  return plugin_.call(is_put ? "`put`" : "`get`", is_put ? table().put : table().get, handle_, &transfer);
}

void Store::start(bool is_put, const baleen_offload_transfer_t& transfer) {
  const char* const name = is_put ? "`put`" : "`get`";
  const baleen_status_t status = try_start(is_put, transfer);
  if (status != BALEEN_OK)
    throw Failure(std::string(name) + " of " + bytes_text(transfer.slot, transfer.offset, transfer.bytes) +
                  " fails: " + plugin_.refusal(name, status).message);
}

void Store::await(baleen_event_t& done, std::uint32_t slot, std::uint64_t value) {
  plugin_.call("the wait for slot " + std::to_string(slot), [&] { event_wait(done, value); });
  if (event_value(done) == BALEEN_EVENT_FAILED) {
    const baleen_status_t status = plugin_.call("`check`", table().check, handle_, slot);
    if (status == BALEEN_OK) throw Failure("an operation fails, and `check` knows of nothing");
    throw Failure("an operation fails: " + plugin_.refusal("`check`", status).message);
  }
  if (event_value(done) != value)
    throw Failure("raises an event to " + std::to_string(event_value(done)) + " and not to its `done_value`, " +
                  std::to_string(value));
}

void Store::put(std::uint32_t slot, std::uint64_t offset, std::uint64_t bytes, void* memory) {
  baleen_event_t done{};
  done.size = sizeof done;
  start(true, transfer(slot, offset, bytes, memory, &done));
  await(done, slot);
}

void Store::read(std::uint32_t slot, std::uint64_t offset, std::uint64_t bytes, void* memory) {
  baleen_event_t done{};
  done.size = sizeof done;
  start(false, transfer(slot, offset, bytes, memory, &done));
  await(done, slot);
}

std::string bytes_text(std::uint32_t slot, std::uint64_t offset, std::uint64_t bytes) {
  return "slot " + std::to_string(slot) + ", " + std::to_string(bytes) + " bytes from " + std::to_string(offset) +
         " on";
}

}  // namespace baleen::validate

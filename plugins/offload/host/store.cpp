/// \file Cuts operations into pieces, one for each thread, and copies them.
#include "store.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "baleen/available_memory.hpp"

namespace baleen::host_memory {
namespace {

constexpr std::uint64_t kMemoryAlignment = 64;
// From this on what is copied would push all else out of the caches.
constexpr std::uint64_t kBeyondCaches = 1u << 20;
// Shorter ones are copied by the caller before a thread would be awake.
constexpr std::uint64_t kShort = 32u << 10;
// What a thread takes at least: less is copied before another one is awake.
constexpr std::uint64_t kPiece = 1u << 20;
constexpr unsigned kDefaultThreads = 4;

unsigned cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(CPU_COUNT(&set));
}

}  // namespace

Result<std::unique_ptr<sdk::OffloadStore>> HostStore::create(const Host& host, const Settings& settings,
                                                             sdk::OffloadSpec spec) {
  (void)host;
  const auto asked = static_cast<unsigned>(settings.integer("threads"));
  const unsigned threads = asked ? asked : std::min(kDefaultThreads, cores());
  sdk::OffloadTraits traits{kBlock, kMemoryAlignment, sdk::available_memory(), "memory"};
  return std::unique_ptr<sdk::OffloadStore>(
      std::make_unique<HostStore>(std::move(spec), std::move(traits), threads, settings.boolean("huge_pages")));
}

HostStore::HostStore(sdk::OffloadSpec given, sdk::OffloadTraits traits, unsigned threads, bool huge_pages)
    : OffloadStore(std::move(given), std::move(traits)), memory_(spec().pinning, huge_pages), works_(queue().most()) {
  shared_.reserve(works_.size());
  for (unsigned i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { loop(); });
    ::pthread_setname_np(threads_.back().native_handle(), "baleen-offload");
  }
}

HostStore::~HostStore() {
  closing_ = true;
  queue().wake();
  for (std::thread& thread : threads_) thread.join();
}

Status HostStore::extend(std::uint64_t begin, std::uint64_t end) {
  checksums_.resize(end);
  Status added = memory_.add(begin, end);
  if (!added) checksums_.resize(begin);
  while (added && mapped_.size() < end / kBlock) mapped_.emplace_back(false);
  return added;
}
void HostStore::give_back(std::uint64_t begin) {
  memory_.remove(begin);
  checksums_.resize(begin);
  while (mapped_.size() > begin / kBlock) mapped_.pop_back();
}
void* HostStore::address(std::uint64_t begin) {
  maps_any_ = true;
  if (begin / kBlock < mapped_.size()) mapped_[begin / kBlock] = true;  // one without bytes may begin at the end
  return memory_.address(begin);
}
void HostStore::spoil(const baleen_offload_transfer_t& transfer) {
  checksums_.spoil(slots().at(transfer.slot).begin + transfer.offset, transfer.bytes);
}
baleen_offload_flags_t HostStore::flags() const {
  const baleen_offload_flags_t pinned = spec().pinning ? BALEEN_OFFLOAD_PINNED : 0;
  const baleen_offload_flags_t checked = maps_any_ ? 0 : BALEEN_OFFLOAD_CHECKED;  // not each block any more
  return BALEEN_OFFLOAD_MAPPED | pinned | checked;
}
std::uint64_t HostStore::overhead() const {
  return checksums_.bytes() + mapped_.size() + works_.size() * (sizeof(Work) + sizeof(sdk::OffloadOperation));
}

bool HostStore::is_short(const baleen_offload_transfer_t& transfer) const { return transfer.bytes <= kShort; }
void HostStore::run(sdk::OffloadOperation& operation) { end(operation, copy(operation, 0, operation.transfer.bytes)); }

std::optional<std::uint64_t> HostStore::copy(const sdk::OffloadOperation& operation, std::uint64_t offset,
                                             std::uint64_t bytes) {
  if (bytes == 0) return std::nullopt;
  const baleen_offload_transfer_t& transfer = operation.transfer;
  const std::uint64_t slot = slots().at(transfer.slot).begin, begin = slot + transfer.offset + offset;
  std::byte* const kept = memory_.address(slot) + transfer.offset + offset;
  std::byte* const users = static_cast<std::byte*>(transfer.memory) + offset;
  if (kept == users) return std::nullopt;  // a mapped slot onto itself
  const bool beyond = transfer.bytes >= kBeyondCaches;
  if (mapped_[slot / kBlock])
    std::memcpy(operation.is_put ? kept : users, operation.is_put ? users : kept, bytes);
  else if (operation.is_put)
    put_checked(checksums_, begin, kept, users, bytes, beyond);
  else if (const auto at = get_checked(checksums_, begin, kept, users, bytes, beyond))
    return offset + *at;
  return std::nullopt;
}

void HostStore::end(sdk::OffloadOperation& operation, std::optional<std::uint64_t> damaged) {
  if (!damaged) return finish(operation);
  const baleen_offload_transfer_t& transfer = operation.transfer;
  const std::uint64_t at = transfer.offset + *damaged;
  if (checksums_.is_spoiled(slots().at(transfer.slot).begin + at))
    return fail(operation,
                {BALEEN_DAMAGED, "a put of it has failed, so there is nothing to get until it is put again", {}});
  fail(operation,
       {BALEEN_DAMAGED,
        "block " + std::to_string(at / kBlock) + " (" + std::to_string(kBlock) +
            " bytes each) is not what was put there: its checksum differs. Memory has lost a bit, or something writes "
            "where it should not; begin again from the last checkpoint, without that machine",
        {}});
}

bool HostStore::take(Piece* piece, bool* gated, bool closing) {
  std::lock_guard lock(mutex_);
  *gated = false;
  while (shared_.empty()) {
    sdk::OffloadOperation* const operation = closing ? queue().next_waiting() : queue().next(gated);
    if (!operation) return false;
    if (closing) {
      fail(*operation, {BALEEN_INTERRUPTED, "the store was destroyed before it could begin", {}});
      continue;
    }
    if (fail_after(*operation)) continue;
    if (operation->transfer.bytes == 0) {
      finish(*operation);
      continue;
    }
    Work& work = works_[operation->number];
    work = {operation, 0, operation->transfer.bytes, {}};
    shared_.push_back(&work);
    if (work.left > kPiece) queue().wake();  // others help
  }
  Work& work = *shared_.front();
  const std::uint64_t all = work.operation->transfer.bytes;
  const std::uint64_t share = (all / threads_.size() + kBlock) / kBlock * kBlock;
  *piece = {&work, work.taken, std::min(std::max(share, kPiece), all - work.taken)};
  work.taken += piece->bytes;
  if (work.taken == all) shared_.erase(shared_.begin());
  return true;
}

void HostStore::end_piece(const Piece& piece, std::optional<std::uint64_t> damaged) {
  {
    std::lock_guard lock(mutex_);
    Work& work = *piece.work;
    if (damaged) work.damaged = std::min(*damaged, work.damaged.value_or(*damaged));
    work.left -= piece.bytes;
    if (work.left != 0) return;
    damaged = work.damaged;
  }
  end(*piece.work->operation, damaged);
}

void HostStore::loop() {
  while (true) {
    const std::uint64_t word = queue().prepare_sleep();
    const bool closing = closing_;  // once a turn: who ends has failed what waits
    Piece piece;
    bool gated = false;
    if (take(&piece, &gated, closing)) {
      end_piece(piece, copy(*piece.work->operation, piece.offset, piece.bytes));
      continue;
    }
    if (closing) return;  // what has begun is ended by the thread that took its last piece
    queue().sleep(word, gated);
  }
}

}  // namespace baleen::host_memory

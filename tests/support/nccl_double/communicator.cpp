/// \file Meeting in shared memory, and the states of a communicator that does not block.
#include "communicator.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

extern "C" void baleen_emulated_enqueue(void* stream, void (*work)(void*), void* argument, void (*release)(void*));

namespace baleen::nccl_double {
namespace {

/// States are asked for so often before work lies on its stream: who does not ask finds nothing there.
constexpr int kPolls = 3;

}  // namespace

Communicator::Communicator(const nccl::UniqueId& id, int ranks_given, int rank_given, bool blocks)
    : ranks(ranks_given), rank(rank_given), blocking(blocks), name_(id.internal, strnlen(id.internal, 100)) {}

Communicator::~Communicator() {
  aborted_ = true;
  if (connecting_.joinable()) connecting_.join();
  if (sharing_.joinable()) sharing_.join();
  if (shared_) munmap(shared_, bytes_);
}

void Communicator::connect(const std::string& given) {
  const char* host = std::getenv("NCCL_HOSTID");
  const std::string device = given + (host ? std::string(" of ") + host : "");
  connecting_ = std::thread([this, device] { attach(device); });
  if (blocking) connecting_.join();
}

void Communicator::attach(const std::string& device) {
  while (std::getenv("NCCL_DOUBLE_HANG") && !aborted_) usleep(1000);
  const auto count = static_cast<std::size_t>(ranks);
  const std::size_t head = (sizeof(Shared) + 63) / 64 * 64;
  bytes_ = head + count * sizeof(Shared::Rank) + count * count * sizeof(Shared::Channel);
  const int file = shm_open(name_.c_str(), O_CREAT | O_RDWR, 0600);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes_)) != 0) return fail(nccl::kSystemError, "no shared memory");
  void* base = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (base == MAP_FAILED) return fail(nccl::kSystemError, "no shared memory");
  shared_ = static_cast<Shared*>(base);
  places_ = reinterpret_cast<Shared::Rank*>(static_cast<char*>(base) + head);
  channels_ = reinterpret_cast<Shared::Channel*>(places_ + count);
  device.copy(rank_at(rank).device, Shared::kText - 1);
  ++shared_->attached;
  const bool all = await([this, count] { return shared_->attached == count; });
  if (rank == 0 || !all) shm_unlink(name_.c_str());
  if (!all) return;
  for (int other = 0; other < ranks; ++other)
    if (other != rank && device == rank_at(other).device)
      return fail(nccl::kInvalidUsage, "Duplicate GPU detected : rank " + std::to_string(rank) + " and rank " +
                                           std::to_string(other) + " both on " + device);
  connected_ = true;
}

void Communicator::fail(Code code, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (code_ != nccl::kSuccess) return;
  why_ = why;
  code_ = code;
}

std::string Communicator::last_error() const {
  const std::lock_guard lock(mutex_);
  return why_;
}

bool Communicator::await(const std::function<bool()>& condition) {
  for (int spin = 0; !condition(); ++spin) {
    if (aborted_) return false;
    if (shared_->broken) {
      fail(nccl::kInvalidUsage, shared_->why);
      return false;
    }
    if (spin < 100)
      sched_yield();
    else
      usleep(50);
  }
  return true;
}

Code Communicator::state() {
  if (code_ != nccl::kSuccess) return static_cast<Code>(code_.load());
  if (!connected_ || shares_) return nccl::kInProgress;
  std::unique_lock lock(mutex_);
  if (!handed_over_.empty()) {
    if (--polls_ > 0) return nccl::kInProgress;
    lock.unlock();
    enqueue();
    return nccl::kSuccess;
  }
  return finalizing_ && executed_ < issued_ ? nccl::kInProgress : nccl::kSuccess;
}

bool Communicator::is_ready() {
  const std::lock_guard lock(mutex_);
  return connected_ && !shares_ && !finalizing_ && !aborted_ && code_ == nccl::kSuccess && handed_over_.empty();
}

Code Communicator::hand_over(std::vector<Op> ops) {
  {
    const std::lock_guard lock(mutex_);
    handed_over_ = std::move(ops);
    polls_ = kPolls;
  }
  if (!blocking) return nccl::kInProgress;
  enqueue();
  return nccl::kSuccess;
}

void Communicator::enqueue() {
  struct Work {
    std::shared_ptr<Communicator> communicator;
    std::vector<Op> ops = {};
    Turn turn = {};
  };
  auto* const work = new Work{shared_from_this()};
  {
    const std::lock_guard lock(mutex_);
    work->ops.swap(handed_over_);
    work->turn.captured = is_captured(work->ops.front().stream);
    if (work->turn.captured)
      ++holders;
    else
      work->turn.number = issued_++;
  }
  baleen_emulated_enqueue(
      work->ops.front().stream,
      [](void* argument) {
        auto& one = *static_cast<Work*>(argument);
        one.communicator->execute(one.ops, one.turn);
      },
      work,
      [](void* argument) {
        auto* const one = static_cast<Work*>(argument);
        if (one->turn.captured) --one->communicator->holders;
        delete one;
      });
}

void Communicator::share(const Share& share) {
  if (sharing_.joinable()) sharing_.join();
  shares_ = true;
  sharing_ = std::thread([this, share] {
    meet_in_window(share);
    shares_ = false;
  });
  if (blocking) sharing_.join();
}

void Communicator::meet_in_window(const Share& share) {
  const std::uint64_t number = rank_at(rank).windows + 1;
  rank_at(rank).window_bytes[number % 2] = share.bytes;
  rank_at(rank).windows = number;
  for (int other = 0; other < ranks; ++other)
    if (!await([&] { return rank_at(other).windows >= number; })) return;
  for (int other = 1; other < ranks; ++other) {
    const std::uint64_t bytes = rank_at(other).window_bytes[number % 2], first = rank_at(0).window_bytes[number % 2];
    if (bytes != first)
      return fail(nccl::kInvalidUsage, "rank " + std::to_string(other) + " shares a window of " +
                                           std::to_string(bytes) + " bytes where rank 0 shares one of " +
                                           std::to_string(first));
  }
  const std::lock_guard lock(mutex_);
  windows_.push_back(share);
  *share.out = share.handle;
}

void Communicator::end_window(const void* handle) {
  const std::lock_guard lock(mutex_);
  std::erase_if(windows_, [&](const Share& one) { return one.handle == handle; });
}

std::string Communicator::windows_of(const Op& op) const {
  const std::lock_guard lock(mutex_);
  if (windows_.empty() || op.is_pairwise()) return {};
  using Kind = Op::Kind;
  const bool gives = op.kind != Kind::kAllGather && op.kind != Kind::kBroadcast,
             takes = op.kind != Kind::kReduceScatter && op.kind != Kind::kReduce;
  std::string text;
  for (const void* side : {gives ? op.from : nullptr, takes ? static_cast<const void*>(op.to) : nullptr}) {
    if (!side) continue;
    const auto at = reinterpret_cast<std::uintptr_t>(side);
    std::string place = ", outside";
    for (std::size_t w = 0; w < windows_.size(); ++w)
      if (windows_[w].base <= at && at < windows_[w].base + windows_[w].bytes)
        place = ", window " + std::to_string(w) + " at " + std::to_string(at - windows_[w].base);
    text += place;
  }
  return text;
}

// Nothing is written to the caller's place any more.
void Communicator::abort() {
  aborted_ = true;
  if (sharing_.joinable()) sharing_.join();
}

}  // namespace baleen::nccl_double

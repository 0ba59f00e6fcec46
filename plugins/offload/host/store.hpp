/// \file Slots in the host's memory; threads copy.
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "baleen/offload.hpp"
#include "checked_copy.hpp"
#include "memory.hpp"

namespace baleen::host_memory {

class HostStore final : public sdk::OffloadStore {
 public:
  static constexpr bool kMaps = true;

  static Result<std::unique_ptr<OffloadStore>> create(const Host& host, const Settings& settings,
                                                      sdk::OffloadSpec spec);
  HostStore(sdk::OffloadSpec spec, sdk::OffloadTraits traits, unsigned threads, bool huge_pages);
  ~HostStore() override;

 protected:
  Status extend(std::uint64_t begin, std::uint64_t end) override;
  void give_back(std::uint64_t begin) override;
  baleen_offload_flags_t flags() const override;
  std::uint64_t overhead() const override;
  void* address(std::uint64_t begin) override;
  bool is_short(const baleen_offload_transfer_t& transfer) const override;
  void run(sdk::OffloadOperation& operation) override;
  void spoil(const baleen_offload_transfer_t& transfer) override;

 private:
  /// An operation that several threads copy.
  struct Work {
    sdk::OffloadOperation* operation = nullptr;
    std::uint64_t taken = 0, left = 0;  ///< bytes that some thread copies or has copied; that are not copied yet
    std::optional<std::uint64_t> damaged = {};  ///< a byte of a block that is not what was put
  };
  struct Piece {
    Work* work = nullptr;
    std::uint64_t offset = 0, bytes = 0;
  };

  void loop();
  /// `closing`: what waits is failed, and none of it taken.
  bool take(Piece* piece, bool* gated, bool closing);
  /// The first byte in the transfer of a block that is not what was put.
  std::optional<std::uint64_t> copy(const sdk::OffloadOperation& operation, std::uint64_t offset, std::uint64_t bytes);
  void end_piece(const Piece& piece, std::optional<std::uint64_t> damaged);
  void end(sdk::OffloadOperation& operation, std::optional<std::uint64_t> damaged);

  Memory memory_;
  BlockSums checksums_;
  /// By the block that a slot begins at: others write to it in place, so what it has is not compared any more.
  std::deque<std::atomic<bool>> mapped_;
  bool maps_any_ = false;
  std::mutex mutex_;           // of the next two
  std::vector<Work> works_;    // by the operation's number
  std::vector<Work*> shared_;  // of which bytes are to be taken, the oldest first
  std::atomic<bool> closing_{false};
  std::vector<std::thread> threads_;
};

}  // namespace baleen::host_memory

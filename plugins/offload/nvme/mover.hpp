/// \file Cuts operations into requests, keeps as many under way as may be, and ends operations.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "baleen/offload_queue.hpp"
#include "block_io.hpp"
#include "common/block_sums.hpp"
#include "swap_files.hpp"

namespace baleen::nvme {

using offload_common::kBlock;

/// What a mover works with; all outlive it.
struct MoverParts {
  SwapFiles& files;
  offload_common::BlockSums& checksums;
  BlockIo& io;
  BounceBuffers buffers;
  std::uint32_t request;      ///< bytes of one at most, in memory that needs no buffer
  std::uint32_t outstanding;  ///< operations at a time
  double timeout;             ///< seconds that a request may take
};

/// [one thread] Allocates nothing but the text of an error.
class Mover {
 public:
  /// `ended` is called once for each operation, with the error if it failed.
  using Ended = std::function<void(sdk::OffloadOperation&, std::optional<Error>)>;

  Mover(const MoverParts& parts, Ended ended);

  /// Whether another operation's requests would find room.
  bool has_room() const { return unissued_ == 0 && !free_.empty(); }
  /// An operation of at least one byte, whose slot begins at that byte of the store.
  void take(sdk::OffloadOperation& operation, std::uint64_t slot_begin);
  /// Begins requests, as many as fit.
  void fill();
  /// Waits for results for so many seconds, and handles them; ends what takes too long. `refill` begins more as soon as
  /// there is room, so that the disk never waits for the checksums of what has come.
  template <class Refill>
  void collect(double seconds, const Refill& refill) {
    const std::size_t count = parts_.io.wait(results_, seconds);
    for (std::size_t i = 0; i < count; ++i) {
      handle(results_[i]);
      refill();
    }
    check_time();
  }
  /// Nothing is under way that may still end.
  bool is_idle() const { return active_.empty(); }
  /// A request was given up, so the disk does not answer: no more operations are to be taken.
  bool is_dead() const { return is_dead_; }
  static Error no_answer();

 private:
  struct Job {
    sdk::OffloadOperation* operation = nullptr;
    std::uint64_t begin = 0, issued = 0;  ///< of the slot in the store; bytes that requests were made for
    std::uint32_t under_way = 0;
    std::optional<Error> error;
  };
  enum class State { kFree, kUnderWay, kCancelled, kLost };
  struct Piece {
    State state = State::kFree;
    std::uint32_t job = 0;
    std::uint64_t at = 0, offset = 0;               ///< first byte in the store; in the operation
    std::uint32_t bytes = 0, moved = 0, tries = 0;  ///< of whole blocks
    bool is_bounce = false;
    SwapPlace place;
    double deadline = 0;
  };

  void begin_piece(Job& job);
  void submit(std::uint32_t id);
  std::byte* memory_of(std::uint32_t id) const;
  void handle(const IoResult& result);
  std::optional<Error> outcome(std::uint32_t id, std::int64_t result);
  std::optional<Error> complete(const Piece& piece, std::uint32_t id);
  Error failed_by(const Piece& piece, int code) const;
  Error cut_short(const Piece& piece) const;
  Error damaged(const Piece& piece, std::uint64_t block) const;
  std::string location(const Piece& piece, std::uint64_t block) const;
  void end_piece(std::uint32_t id, std::optional<Error> error);
  void give_up(Job& job, const Error& error);
  void check_time();
  void end_if_over(std::uint32_t job);

  MoverParts parts_;
  Ended ended_;
  std::vector<Job> jobs_;              // by the operation's number
  std::vector<std::uint32_t> active_;  // of those that are not over, the oldest first
  std::size_t unissued_ = 0;           // jobs with bytes that no request was made for
  std::vector<Piece> pieces_;          // by the request's id
  std::vector<std::uint32_t> free_;
  std::vector<IoResult> results_;
  bool is_dead_ = false;
};

}  // namespace baleen::nvme

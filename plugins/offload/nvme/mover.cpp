/// \file Requests: made, followed, ended.
#include "mover.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace baleen::nvme {
namespace {

// So often a request that moved nothing, or was interrupted, is made again.
constexpr std::uint32_t kMostTries = 32;
// How long the kernel may take to give a cancelled request back, at most.
constexpr double kGrace = 1;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

Mover::Mover(const MoverParts& parts, Ended ended)
    : parts_(parts), ended_(std::move(ended)), jobs_(parts.outstanding), pieces_(parts.buffers.depth) {
  active_.reserve(parts.outstanding);
  free_.reserve(pieces_.size());
  for (auto id = static_cast<std::uint32_t>(pieces_.size()); id-- > 0;) free_.push_back(id);
  results_.resize(pieces_.size());
}

void Mover::take(sdk::OffloadOperation& operation, std::uint64_t slot_begin) {
  Job& job = jobs_[operation.number];
  job = {&operation, slot_begin, 0, 0, std::nullopt};
  active_.push_back(operation.number);
  ++unissued_;
}

void Mover::fill() {
  for (const std::uint32_t number : active_) {
    Job& job = jobs_[number];
    while (!free_.empty() && !job.error && job.issued < job.operation->transfer.bytes) begin_piece(job);
    if (free_.empty()) return;
  }
}

void Mover::begin_piece(Job& job) {
  const baleen_offload_transfer_t& transfer = job.operation->transfer;
  const std::uint64_t left = transfer.bytes - job.issued, at = job.begin + transfer.offset + job.issued;
  const std::uint32_t id = free_.back();
  free_.pop_back();
  Piece& piece = pieces_[id];
  piece = {};
  piece.job = job.operation->number;
  piece.at = at;
  piece.offset = job.issued;
  piece.place = parts_.files.place(at);
  const bool is_tail = left < kBlock;  // the end of a slot: in a buffer, where the block is filled up with zeros
  const auto address = reinterpret_cast<std::uintptr_t>(transfer.memory) + job.issued;
  piece.is_bounce = is_tail || (parts_.files.is_direct() && address % kBlock != 0);
  const std::uint32_t most = piece.is_bounce ? parts_.buffers.bytes : parts_.request;
  piece.bytes = static_cast<std::uint32_t>(
      is_tail ? kBlock : std::min<std::uint64_t>({left / kBlock * kBlock, most, piece.place.bytes}));
  const std::uint64_t own = std::min<std::uint64_t>(left, piece.bytes);
  if (job.operation->is_put && piece.is_bounce) {
    std::byte* const buffer = parts_.buffers.at(id);
    std::memcpy(buffer, static_cast<const std::byte*>(transfer.memory) + job.issued, own);
    std::memset(buffer + own, 0, piece.bytes - own);
  }
  job.issued += own;
  ++job.under_way;
  if (job.issued == transfer.bytes) --unissued_;
  submit(id);
  // While the disk works: only this thread tells that the put is over, and until then the memory stays as it is.
  if (job.operation->is_put) parts_.checksums.set_all(at, memory_of(id), piece.bytes);
}

std::byte* Mover::memory_of(std::uint32_t id) const {
  const Piece& piece = pieces_[id];
  if (piece.is_bounce) return parts_.buffers.at(id);
  return static_cast<std::byte*>(jobs_[piece.job].operation->transfer.memory) + piece.offset;
}

void Mover::submit(std::uint32_t id) {
  Piece& piece = pieces_[id];
  piece.state = State::kUnderWay;
  piece.deadline = now() + parts_.timeout;
  parts_.io.begin({id, jobs_[piece.job].operation->is_put, parts_.files.file(piece.place.number),
                   piece.place.offset + piece.moved, memory_of(id) + piece.moved, piece.bytes - piece.moved,
                   piece.is_bounce});
}

void Mover::handle(const IoResult& result) {
  Piece& piece = pieces_[result.id];
  if (piece.state == State::kLost) {  // its operation is over
    piece.state = State::kFree;
    return;
  }
  if (piece.state == State::kCancelled)
    return end_piece(result.id, result.result == piece.bytes - piece.moved ? complete(piece, result.id)
                                                                           : failed_by(piece, ETIMEDOUT));
  const std::uint32_t before = piece.moved;
  if (result.result > 0) piece.moved += static_cast<std::uint32_t>(result.result);
  if (result.result > 0 && piece.moved == piece.bytes) return end_piece(result.id, complete(piece, result.id));
  if (std::optional<Error> error = outcome(result.id, result.result)) return end_piece(result.id, std::move(error));
  piece.moved -= static_cast<std::uint32_t>(piece.moved % kBlock);  // the rest again, by whole blocks
  piece.tries = piece.moved > before ? 0 : piece.tries + 1;
  submit(result.id);
}

/// Why a request that did not move everything is not made again; nothing where it is.
std::optional<Error> Mover::outcome(std::uint32_t id, std::int64_t result) {
  const Piece& piece = pieces_[id];
  if (result < 0 && result != -EINTR && result != -EAGAIN) return failed_by(piece, static_cast<int>(-result));
  if (result == 0 && !jobs_[piece.job].operation->is_put) return cut_short(piece);
  if (piece.tries < kMostTries) return std::nullopt;
  return Error{BALEEN_IO,
               "moved " + std::to_string(piece.moved) + " of " + std::to_string(piece.bytes) +
                   " bytes and no more in " + std::to_string(kMostTries) + " tries; the disk or its driver is at fault",
               location(piece, 0)};
}

/// What a whole read has to pass: every block is the one that was put.
std::optional<Error> Mover::complete(const Piece& piece, std::uint32_t id) {
  const sdk::OffloadOperation& operation = *jobs_[piece.job].operation;
  if (operation.is_put) return std::nullopt;
  const std::byte* const data = memory_of(id);
  if (const auto block = parts_.checksums.mismatch(piece.at, data, piece.bytes)) return damaged(piece, *block);
  if (piece.is_bounce)
    std::memcpy(static_cast<std::byte*>(operation.transfer.memory) + piece.offset, data,
                std::min<std::uint64_t>(piece.bytes, operation.transfer.bytes - piece.offset));
  return std::nullopt;
}

void Mover::end_piece(std::uint32_t id, std::optional<Error> error) {
  Piece& piece = pieces_[id];
  Job& job = jobs_[piece.job];
  if (error) give_up(job, *error);
  --job.under_way;
  piece.state = State::kFree;
  free_.push_back(id);
  end_if_over(piece.job);
}

void Mover::give_up(Job& job, const Error& error) {
  if (job.error) return;
  if (job.issued < job.operation->transfer.bytes) --unissued_;
  job.error = error;
}

void Mover::end_if_over(std::uint32_t number) {
  Job& job = jobs_[number];
  if (job.under_way > 0 || (!job.error && job.issued < job.operation->transfer.bytes)) return;
  active_.erase(std::find(active_.begin(), active_.end(), number));
  std::optional<Error> error = std::exchange(job.error, std::nullopt);
  ended_(*std::exchange(job.operation, nullptr), std::move(error));
}

void Mover::check_time() {
  const double time = now();
  for (std::uint32_t id = 0; id < pieces_.size(); ++id) {
    Piece& piece = pieces_[id];
    if ((piece.state != State::kUnderWay && piece.state != State::kCancelled) || time < piece.deadline) continue;
    if (piece.state == State::kUnderWay) {
      piece.state = State::kCancelled;
      piece.deadline = time + std::min(kGrace, parts_.timeout);
      parts_.io.cancel(id);
      continue;
    }
    piece.state = State::kLost;
    is_dead_ = true;
    Job& job = jobs_[piece.job];
    give_up(job, failed_by(piece, ETIMEDOUT));
    --job.under_way;
    end_if_over(piece.job);
  }
  if (!is_dead_) return;
  const std::vector<std::uint32_t> others = active_;  // what is not under way will not be
  for (const std::uint32_t number : others) {
    give_up(jobs_[number], no_answer());
    end_if_over(number);
  }
}

}  // namespace baleen::nvme

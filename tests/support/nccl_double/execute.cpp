/// \file Collectives by meetings around staging memory; messages by a channel per direction. Sums go around a ring and
/// are rounded at each hop, and a maximum drops a NaN: as NCCL does it, and not as the SDK promises it.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "baleen/half.hpp"
#include "communicator.hpp"

namespace baleen::nccl_double {
namespace {

using Kind = Op::Kind;

template <class T>
T apply(T a, T b, int op) {
  if constexpr (std::is_floating_point_v<T>)
    return op == nccl::kSum ? a + b : std::fmax(a, b);
  else
    return op == nccl::kSum ? static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b))
                            : std::max(a, b);
}

template <class T>
struct Plain {
  static T get(const unsigned char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  static void put(unsigned char* at, T value) { std::memcpy(at, &value, sizeof value); }
};
struct Fp16 {
  static float get(const unsigned char* at) { return from_fp16(Plain<std::uint16_t>::get(at)); }
  static void put(unsigned char* at, float value) { Plain<std::uint16_t>::put(at, to_fp16(value)); }
};
struct Bf16 {
  static float get(const unsigned char* at) { return from_bf16(Plain<std::uint16_t>::get(at)); }
  static void put(unsigned char* at, float value) { Plain<std::uint16_t>::put(at, to_bf16(value)); }
};

/// `number`: of the first element; another rank begins the ring every thousand elements.
template <class Type>
void ring(std::vector<const unsigned char*> from, unsigned char* to, std::size_t count, std::size_t width, int op,
          std::size_t number) {
  unsigned char sum[8];
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t first = (number + i) / 1000 % from.size();
    std::memcpy(sum, from[first] + i * width, width);
    for (std::size_t hop = 1; hop < from.size(); ++hop) {
      const auto value = Type::get(from[(first + hop) % from.size()] + i * width);
      Type::put(sum, apply(Type::get(sum), value, op));
    }
    std::memcpy(to + i * width, sum, width);
  }
}

void reduce(const Op& op, const std::vector<const unsigned char*>& from, unsigned char* to, std::size_t count,
            std::size_t number) {
  const std::size_t width = op.width();
  switch (op.type) {
    case nccl::kInt8: return ring<Plain<std::int8_t>>(from, to, count, width, op.op, number);
    case nccl::kUint8: return ring<Plain<std::uint8_t>>(from, to, count, width, op.op, number);
    case nccl::kInt32: return ring<Plain<std::int32_t>>(from, to, count, width, op.op, number);
    case nccl::kUint32: return ring<Plain<std::uint32_t>>(from, to, count, width, op.op, number);
    case nccl::kInt64: return ring<Plain<std::int64_t>>(from, to, count, width, op.op, number);
    case nccl::kUint64: return ring<Plain<std::uint64_t>>(from, to, count, width, op.op, number);
    case nccl::kFloat16: return ring<Fp16>(from, to, count, width, op.op, number);
    case nccl::kBfloat16: return ring<Bf16>(from, to, count, width, op.op, number);
    case nccl::kFloat64: return ring<Plain<double>>(from, to, count, width, op.op, number);
    default: return ring<Plain<float>>(from, to, count, width, op.op, number);
  }
}

}  // namespace

// One stream's work after another's, as the calls came. A replay has no turn: who enqueues it keeps it apart.
bool Communicator::take_turn(Turn turn) {
  if (!turn.captured && !await([&] { return executed_ >= turn.number; })) return false;
  if (busy_.exchange(true)) {
    fail(nccl::kInvalidUsage, "a replay runs beside another operation of its communicator");
    return false;
  }
  captured_ = turn.captured;
  return true;
}

void Communicator::execute(const std::vector<Op>& ops, Turn turn) {
  ++running_;
  const bool runs = take_turn(turn);
  bool well = runs && !aborted_ && code_ == nccl::kSuccess;  // or it would meet others who are at an earlier one
  std::vector<const Op*> pairs;
  for (const Op& op : ops) {
    if (is_to_fail("NCCL_DOUBLE_DIE", op.name())) kill(getpid(), SIGKILL);
    if (well && is_to_fail("NCCL_DOUBLE_BREAK", op.name())) {
      fail(nccl::kRemoteError, std::string(op.name()) + " was broken by NCCL_DOUBLE_BREAK");
      well = false;
    }
    if (op.is_pairwise())
      pairs.push_back(&op);
    else
      well = well && run_collective(op);
  }
  if (well && !pairs.empty()) well = run_pairs(pairs);
  while (!well && !aborted_) usleep(100);  // a kernel does not end by itself
  if (runs) busy_ = false;
  std::uint64_t mine = turn.number;
  if (!turn.captured) executed_.compare_exchange_strong(mine, turn.number + 1);
  --running_;
}

bool Communicator::meet(const Op& op, bool first) {
  const std::uint64_t phase = phase_ + 1;
  if (first) {
    char* const mine = rank_at(rank).call[phase % 2];
    std::memset(mine, 0, Shared::kText);
    (op.text() + (captured_ ? ", captured" : "") + windows_of(op)).copy(mine, Shared::kText - 1);
  }
  phase_ = phase;
  rank_at(rank).phase = phase;
  for (int other = 0; other < ranks; ++other)
    if (!await([&] { return rank_at(other).phase >= phase; })) return false;
  return !first || compare();
}

bool Communicator::compare() {
  const auto call_of = [this](int other) { return rank_at(other).call[phase_ % 2]; };
  for (int other = 1; other < ranks; ++other) {
    if (std::strcmp(call_of(other), call_of(0)) == 0) continue;
    const std::string why =
        "rank " + std::to_string(other) + " calls " + call_of(other) + " where rank 0 calls " + call_of(0);
    std::uint32_t whole = 0;
    if (shared_->broken == 0) why.copy(shared_->why, sizeof shared_->why - 1);  // all write the same
    shared_->broken.compare_exchange_strong(whole, 1);
    fail(nccl::kInvalidUsage, why);
    return false;
  }
  return true;
}

bool Communicator::run_collective(const Op& op) {
  if (op.count == 0) return meet(op, true);
  switch (op.kind) {
    case Kind::kAllGather: return gather(op);
    case Kind::kBroadcast: return broadcast(op);
    case Kind::kAllToAll: return exchange(op);
    default: return reduce_all(op);
  }
}

bool Communicator::reduce_all(const Op& op) {
  const bool scatters = op.kind == Kind::kReduceScatter;
  const std::size_t total = scatters ? op.count * static_cast<std::size_t>(ranks) : op.count, width = op.width();
  const std::size_t mine = scatters ? op.count * static_cast<std::size_t>(rank) : 0;
  const bool takes = op.kind != Kind::kReduce || op.peer == rank;
  for (std::size_t begin = 0; begin < total; begin += Shared::kStaging / width) {
    const std::size_t count = std::min(Shared::kStaging / width, total - begin);
    std::memcpy(own(), static_cast<const unsigned char*>(op.from) + begin * width, count * width);
    if (!meet(op, begin == 0)) return false;
    const std::size_t low = std::max(begin, mine), high = std::min(begin + count, mine + op.count);
    if (!takes || low >= high) continue;
    std::vector<const unsigned char*> parts;
    for (int other = 0; other < ranks; ++other) parts.push_back(of(other) + (low - begin) * width);
    reduce(op, parts, static_cast<unsigned char*>(op.to) + (low - mine) * width, high - low, low);
  }
  return true;
}

bool Communicator::gather(const Op& op) {
  const std::size_t bytes = op.count * op.width();
  for (std::size_t begin = 0; begin < bytes; begin += Shared::kStaging) {
    const std::size_t count = std::min(Shared::kStaging, bytes - begin);
    std::memcpy(own(), static_cast<const unsigned char*>(op.from) + begin, count);
    if (!meet(op, begin == 0)) return false;
    for (int other = 0; other < ranks; ++other)
      std::memcpy(static_cast<unsigned char*>(op.to) + static_cast<std::size_t>(other) * bytes + begin, of(other),
                  count);
  }
  return true;
}

bool Communicator::broadcast(const Op& op) {
  const std::size_t bytes = op.count * op.width();
  for (std::size_t begin = 0; begin < bytes; begin += Shared::kStaging) {
    const std::size_t count = std::min(Shared::kStaging, bytes - begin);
    if (rank == op.peer) std::memcpy(own(), static_cast<const unsigned char*>(op.from) + begin, count);
    if (!meet(op, begin == 0)) return false;
    std::memcpy(static_cast<unsigned char*>(op.to) + begin, of(op.peer), count);
  }
  return true;
}

bool Communicator::exchange(const Op& op) {
  const std::size_t bytes = op.count * op.width();
  for (int receiver = 0; receiver < ranks; ++receiver)
    for (std::size_t begin = 0; begin < bytes; begin += Shared::kStaging) {
      const std::size_t count = std::min(Shared::kStaging, bytes - begin);
      std::memcpy(own(),
                  static_cast<const unsigned char*>(op.from) + static_cast<std::size_t>(receiver) * bytes + begin,
                  count);
      if (!meet(op, receiver == 0 && begin == 0)) return false;
      for (int other = 0; receiver == rank && other < ranks; ++other)
        std::memcpy(static_cast<unsigned char*>(op.to) + static_cast<std::size_t>(other) * bytes + begin, of(other),
                    count);
    }
  return true;
}

bool Communicator::advance(bool sends, int peer, Message& message) {
  Shared::Channel& mail = sends ? channel(rank, peer) : channel(peer, rank);
  if (sends ? mail.full != mail.taken : mail.full == mail.taken) return false;
  const Op& op = *message.op;
  if (sends) {
    mail.bytes = std::min(Shared::kMail, message.bytes - message.at);
    mail.total = message.bytes;
    mail.type = op.type;
    std::memcpy(mail.data, static_cast<const unsigned char*>(op.from) + message.at, mail.bytes);
    message.at += mail.bytes;
    ++mail.full;
  } else {
    if (mail.total != message.bytes || mail.type != op.type) {
      fail(nccl::kInvalidUsage, "rank " + std::to_string(peer) + " sends " + std::to_string(mail.total) +
                                    " bytes of type " + std::to_string(mail.type) + " where rank " +
                                    std::to_string(rank) + " receives " + std::to_string(message.bytes) + " of type " +
                                    std::to_string(op.type));
      return false;
    }
    std::memcpy(static_cast<unsigned char*>(op.to) + message.at, mail.data, mail.bytes);
    message.at += mail.bytes;
    ++mail.taken;
  }
  message.done = message.at == message.bytes;
  return true;
}

bool Communicator::run_pairs(const std::vector<const Op*>& ops) {
  std::map<std::pair<bool, int>, std::vector<Message>> lines;  // in order, by direction and peer
  for (const Op* op : ops) lines[{op->kind == Kind::kSend, op->peer}].push_back({op, op->count * op->width()});
  std::size_t left = ops.size();
  const auto advance_any = [&] {
    bool any = code_ != nccl::kSuccess;
    for (auto& [key, messages] : lines) {
      const auto first = std::find_if(messages.begin(), messages.end(), [](const Message& m) { return !m.done; });
      if (first == messages.end() || !advance(key.first, key.second, *first)) continue;
      left -= first->done ? 1 : 0;
      any = true;
    }
    return any;
  };
  while (left > 0)
    if (!await(advance_any) || code_ != nccl::kSuccess) return false;
  // A send has ended when its receiver has all of it.
  return await([&] {
    return std::all_of(ops.begin(), ops.end(), [&](const Op* op) {
      return op->kind != Kind::kSend || channel(rank, op->peer).taken == channel(rank, op->peer).full;
    });
  });
}

}  // namespace baleen::nccl_double

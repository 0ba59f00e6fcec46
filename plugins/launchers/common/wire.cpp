/// \file Packing and unpacking: whole numbers of eight bytes, texts behind their length.
#include "common/wire.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace baleen::launchers {
namespace {

constexpr std::size_t kNumber = sizeof(std::int64_t);
constexpr std::int64_t kLongest = std::int64_t{1} << 30;

class Packer {
 public:
  Packer& number(std::int64_t value) {
    out_.append(reinterpret_cast<const char*>(&value), kNumber);
    return *this;
  }
  Packer& text(std::string_view value) {
    number(static_cast<std::int64_t>(value.size()));
    out_ += value;
    return *this;
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

/// Reads in the order of writing. Past the end everything is 0 or empty, and `check` fails.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  template <class Number = std::int64_t>
  Number number() {
    std::int64_t value = 0;
    if (bytes_.size() < kNumber) {
      broken_ = true;
      return Number{};
    }
    std::memcpy(&value, bytes_.data(), kNumber);
    bytes_.remove_prefix(kNumber);
    return static_cast<Number>(value);
  }
  std::string text() {
    const auto size = number<std::uint64_t>();
    if (size > bytes_.size()) {
      broken_ = true;
      return {};
    }
    std::string value(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return value;
  }
  /// Whether there is more to read.
  bool has_more() const { return !broken_ && !bytes_.empty(); }
  Status check() const {
    if (broken_ || !bytes_.empty()) return internal("a message on the control channel is malformed");
    return {};
  }

 private:
  std::string_view bytes_;
  bool broken_ = false;
};

std::vector<int> take_numbers(Unpacker& from) {
  std::vector<int> numbers;
  for (auto left = from.number(); left > 0 && from.has_more(); --left) numbers.push_back(from.number<int>());
  return numbers;
}

ProgressSnapshot take_moment(Unpacker& from) {
  ProgressSnapshot moment;
  moment.step = from.number();
  moment.phase = from.text();
  moment.collective = from.number();
  moment.runs = from.number<std::uint32_t>();
  moment.order = from.number<std::uint32_t>();
  moment.program = from.text();
  moment.stands_in = from.text();
  moment.passed = from.number<std::uint64_t>();
  return moment;
}

}  // namespace

std::string to_frame(const Message& message) {
  const std::string body = Packer()
                               .number(static_cast<std::int64_t>(message.kind))
                               .number(message.request)
                               .number(message.code)
                               .number(message.rank)
                               .text(message.key)
                               .text(message.value)
                               .take();
  return Packer().text(body).take();
}

Result<std::optional<std::size_t>> frame_size(std::string_view bytes) {
  if (bytes.size() < kNumber) return std::optional<std::size_t>();
  const auto size = Unpacker(bytes.substr(0, kNumber)).number();
  if (size < 0 || size > kLongest) return internal("the control channel carries no messages of this program");
  return std::optional(kNumber + static_cast<std::size_t>(size));
}

Result<Message> message_from(std::string_view frame) {
  Unpacker from(frame.substr(std::min(kNumber, frame.size())));
  Message message;
  const auto kind = from.number();
  message.request = from.number<std::uint32_t>();
  message.code = from.number<baleen_status_t>();
  message.rank = from.number<int>();
  message.key = from.text();
  message.value = from.text();
  BALEEN_TRY(from.check());
  if (kind < 1 || kind > static_cast<std::int64_t>(kLastMessageKind))
    return internal("a message on the control channel is of an unknown kind");
  message.kind = static_cast<MessageKind>(kind);
  return message;
}

void Inbox::drop(std::size_t count) {
  constexpr std::size_t kWorthMoving = std::size_t{1} << 16;
  read_ += count;
  if (read_ < bytes_.size() && read_ < kWorthMoving) return;
  bytes_.erase(0, read_);
  read_ = 0;
}

Result<std::optional<Message>> Frames::next() {
  const std::string_view left = inbox_.view();
  BALEEN_TRY_ASSIGN(const std::optional<std::size_t> size, frame_size(left));
  if (!size || left.size() < *size) return std::optional<Message>();
  BALEEN_TRY_ASSIGN(Message message, message_from(left.substr(0, *size)));
  inbox_.drop(*size);
  return std::optional<Message>(std::move(message));
}

std::string to_bytes(const Place& place) {
  Packer packer;
  packer.number(place.rank).number(place.ranks).number(place.local_rank).number(place.local_ranks);
  packer.text(place.host).number(place.threads).number(place.host_index);
  packer.number(static_cast<std::int64_t>(place.host_of_rank.size()));
  for (const int host : place.host_of_rank) packer.number(host);
  return packer.text(place.address).take();
}

Result<Place> place_from(std::string_view bytes) {
  Unpacker from(bytes);
  Place place;
  place.rank = from.number<int>();
  place.ranks = from.number<int>();
  place.local_rank = from.number<int>();
  place.local_ranks = from.number<int>();
  place.host = from.text();
  place.threads = from.number<int>();
  place.host_index = from.number<int>();
  place.host_of_rank = take_numbers(from);
  place.address = from.text();
  BALEEN_TRY(from.check());
  return place;
}

std::string to_bytes(const ProgressSnapshot& moment) {
  return Packer()
      .number(moment.step)
      .text(moment.phase)
      .number(moment.collective)
      .number(moment.runs)
      .number(moment.order)
      .text(moment.program)
      .text(moment.stands_in)
      .number(moment.passed)
      .take();
}

Result<ProgressSnapshot> moment_from(std::string_view bytes) {
  Unpacker from(bytes);
  ProgressSnapshot moment = take_moment(from);
  BALEEN_TRY(from.check());
  return moment;
}

std::string to_bytes(const Failure& failure) {
  Packer packer;
  packer.number(failure.error.code).text(failure.error.message).text(failure.error.where);
  packer.number(static_cast<std::int64_t>(failure.recorded.size()));
  for (const std::string& line : failure.recorded) packer.text(line);
  return packer.take() + to_bytes(failure.moment);
}

Result<Failure> failure_from(std::string_view bytes) {
  Unpacker from(bytes);
  Failure failure;
  failure.error.code = from.number<baleen_status_t>();
  failure.error.message = from.text();
  failure.error.where = from.text();
  for (auto lines = from.number(); lines > 0 && from.has_more(); --lines) failure.recorded.push_back(from.text());
  failure.moment = take_moment(from);
  BALEEN_TRY(from.check());
  return failure;
}

std::string to_bytes(const RankEnd& end) {
  Packer packer;
  packer.number(end.status).number(end.killed).number(end.done).number(end.told);
  return packer.take() + to_bytes(end.moment);
}

Result<RankEnd> rank_end_from(std::string_view bytes) {
  Unpacker from(bytes);
  RankEnd end;
  end.status = from.number<int>();
  end.killed = from.number() != 0;
  end.done = from.number() != 0;
  end.told = from.number() != 0;
  end.moment = take_moment(from);
  BALEEN_TRY(from.check());
  return end;
}

}  // namespace baleen::launchers

/// \file A fuzz target: any bytes as what launchers and ranks say to each other, however it is cut, and as each of the
/// values that messages carry. What is taken is written and read again the same.
#include <string>
#include <vector>

#include "common/wire.hpp"
#include "fuzz/require.hpp"

namespace {

using namespace baleen::launchers;
using baleen::Result;
using baleen::fuzz::require;

template <class Value>
void use_value(const Result<Value>& value, Result<Value> (*read)(std::string_view)) {
  if (!value) return;
  const std::string bytes = to_bytes(*value);
  const Result<Value> again = read(bytes);
  require(again && to_bytes(*again) == bytes);
}

void use_values(std::string_view bytes) {
  use_value(place_from(bytes), &place_from);
  use_value(moment_from(bytes), &moment_from);
  use_value(failure_from(bytes), &failure_from);
  use_value(rank_end_from(bytes), &rank_end_from);
}

/// All messages, and whether what came behind them was one's beginning at least.
struct Heard {
  std::vector<Message> messages;
  bool well = true;
  bool operator==(const Heard&) const = default;
};

Heard hear(std::string_view bytes, std::size_t piece) {
  Heard heard;
  Frames frames;
  for (std::size_t at = 0; at < bytes.size() && heard.well; at += piece) {
    frames.add(bytes.substr(at, piece));
    auto next = frames.next();
    for (; next && *next; next = frames.next()) heard.messages.push_back(**std::move(next));
    heard.well = static_cast<bool>(next);
  }
  return heard;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = baleen::fuzz::text_of(data + 1, size - 1);
  const Heard heard = hear(bytes, size);
  require(heard == hear(bytes, 1 + std::size_t{data[0]}));
  std::string again;
  for (const Message& message : heard.messages) {
    use_values(message.value);
    again += to_frame(message);
  }
  require(hear(again, size) == Heard{heard.messages});
  use_values(bytes);
  return 0;
}

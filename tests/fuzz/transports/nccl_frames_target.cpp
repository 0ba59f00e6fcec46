/// \file A fuzz target: any bytes as what ranks tell each other beside NCCL, however it is cut, and as where rank 0
/// listens. What is taken is written and read again the same.
#include <string>
#include <vector>

#include "frames.hpp"
#include "fuzz/require.hpp"
#include "hub.hpp"

namespace {

using namespace baleen::nccl;
using baleen::fuzz::require;

struct Heard {
  std::vector<Frame> frames;
  bool well = true;
  bool operator==(const Heard&) const = default;
};

Heard hear(std::string_view bytes, std::size_t piece, bool is_rank) {
  Heard heard;
  Frames frames;
  if (is_rank) frames.trust();
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    heard.well = frames.add(bytes.substr(at, piece));
    while (auto frame = frames.next()) heard.frames.push_back(*std::move(frame));
  }
  return heard;
}

void read_frames(std::string_view bytes, std::size_t piece) {
  const Heard heard = hear(bytes, bytes.size() + 1, true);
  require(heard == hear(bytes, piece, true));
  std::string again;
  for (const Frame& frame : heard.frames) again += to_bytes(frame);
  require(bytes.starts_with(again) && hear(again, bytes.size() + 1, true) == Heard{heard.frames});
  const Heard stranger = hear(bytes, bytes.size() + 1, false);
  require(stranger.frames.size() <= 1 && (heard.frames.size() <= 1 || !stranger.well));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = baleen::fuzz::text_of(data + 1, size - 1);
  read_frames(bytes, 1 + std::size_t{data[0]});
  if (const auto place = place_from(bytes)) require(*place_from(to_text(*place)) == *place);
  const std::size_t half = bytes.size() / 2;
  const std::string facts(bytes.substr(0, half)), others(bytes.substr(half));
  require(different_fact(1, facts, facts).empty());
  (void)different_fact(1, facts, others);
  return 0;
}

/// \file A fuzz target: any bytes as what ranks of ucx say of themselves: an address, who a rank is that connects, what
/// stands before a message, and how long a record is. What is taken is written and read again the same.
#include <cstring>
#include <string>

#include "addresses.hpp"
#include "fuzz/require.hpp"
#include "tls_frame.hpp"
#include "tls_handshake.hpp"

namespace {

using namespace baleen::ucx;
using baleen::fuzz::require;

void read_text(const std::string& text) {
  if (const auto address = address_from(text)) {
    const auto again = address_from(text_of(*address));
    require(again && text_of(*again) == text_of(*address) && again->is_loopback == address->is_loopback);
  }
  if (const auto peers = TlsHandshake::peers_from(text)) {
    require(peers->from >= 0 && peers->to >= 0);
    const auto again = TlsHandshake::peers_from(TlsHandshake::identity_of(*peers));
    require(again && again->from == peers->from && again->to == peers->to);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_text(std::string(baleen::fuzz::text_of(data, size)));
  if (size >= TlsRecords::kHeaderBytes) {
    const std::span<const std::uint8_t, TlsRecords::kHeaderBytes> header(data, TlsRecords::kHeaderBytes);
    if (const auto length = TlsRecords::length_from(header))
      require(*length <= TlsRecords::kLongest && TlsRecords::room_for(*length) <= TlsRecords::kLongest);
  }
  FrameHeader header;
  if (size < sizeof header) return 0;
  std::memcpy(&header, data, sizeof header);
  if (!header.objection().empty()) return 0;
  const FrameHeader again = FrameHeader::of(header.kind(), header.tag, header.bytes());
  require(again.word == header.word && (header.kind() != FrameKind::kBeat || header.bytes() == 0));
  return 0;
}

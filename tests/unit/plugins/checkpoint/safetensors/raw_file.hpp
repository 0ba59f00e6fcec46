/// \file A safetensors file put together by hand.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>

/// The length, the header, the data.
inline std::string raw_file(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

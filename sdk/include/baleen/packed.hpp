/// \file Files that hold something compressed where text is wanted, so that data plugins can say so.
#pragma once
#include <string>
#include <string_view>

#include "baleen/result.hpp"

namespace baleen::sdk {

/// The program that packed a file which begins with `bytes`: "gzip", "zip", "xz", "bzip2" or "zstd". Empty: none known.
inline std::string_view packed_by(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.substr(0, 3) == "\x1f\x8b\x08"sv) return "gzip";
  if (bytes.substr(0, 4) == "PK\x03\x04"sv) return "zip";
  if (bytes.substr(0, 6) == "\xfd\x37zXZ\0"sv) return "xz";
  if (bytes.substr(0, 3) == "BZh"sv && bytes.size() >= 10 && bytes.substr(4, 6) == "1AY&SY"sv) return "bzip2";
  if (bytes.substr(0, 4) == "\x28\xb5\x2f\xfd"sv) return "zstd";
  return {};
}

/// Fails where `packed_by` knows the file at `path`, which begins with `bytes`.
inline Status refuse_packed(std::string_view bytes, const std::string& path) {
  const std::string_view packer = packed_by(bytes);
  if (packer.empty()) return {};
  return invalid("is compressed by " + std::string(packer) + "; unpack it first", path);
}

}  // namespace baleen::sdk

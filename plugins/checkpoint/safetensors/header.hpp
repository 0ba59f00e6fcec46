/// \file The JSON header of a safetensors file: parsing what may be hostile, and composing it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/checkpoint.hpp"

namespace baleen::safetensors {

using namespace sdk;

/// Limits of the format and of this reader; a file beyond them is refused before memory is taken.
inline constexpr std::uint64_t kMaxHeader = 100'000'000;
inline constexpr std::size_t kMaxTensors = 1'000'000;
inline constexpr std::size_t kMaxName = 4096;

/// A tensor's place in the buffer that follows the header.
struct Entry {
  std::string name;
  std::string dtype;  // as in the file: "F32", ...
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;
};

struct Header {
  std::vector<Entry> entries;  // by place in the buffer
  Facts metadata;
};

/// Bits of an element, 0 for an unknown dtype.
unsigned dtype_bits(std::string_view dtype);
/// Baleen's dtype, or 0 where it has none for it.
baleen_dtype_t to_dtype(std::string_view dtype);
/// The format's name of a dtype.
std::string_view to_name(baleen_dtype_t dtype);

/// Parses and checks `json` against a buffer of `buffer_size` bytes: structure, unique keys, limits, sizes, and that
/// the tensors cover the buffer without hole or overlap.
Result<Header> parse_header(std::string_view json, std::uint64_t buffer_size);

/// The header of `entries` (their begin and end filled in), padded with spaces to a multiple of 8.
Result<std::string> compose_header(const std::vector<Entry>& entries, const Facts& metadata);

}  // namespace baleen::safetensors

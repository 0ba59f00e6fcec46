/// \file Digests of tensors as text that ranks send each other.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace baleen {

/// 16 hexadecimal digits.
std::string digest_text(std::uint64_t digest);
/// XXH3 of a text, as such digits.
std::string digest_of(std::string_view text);
/// Those of a rank's parts, by number of the tensor; zeros are left out.
std::string digests_text(const std::vector<std::uint64_t>& digests);
/// Adds what such a text says. What is no number of a tensor is passed over.
void add_digests(const std::string& text, std::vector<std::uint64_t>& sums);

}  // namespace baleen

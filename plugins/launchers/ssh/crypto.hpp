/// \file Randomness, and the key of a job from the secret that its hosts share (OpenSSL only here and in tls.cpp).
#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "baleen/result.hpp"
#include "secret.hpp"

namespace baleen::launchers {

/// Fresh bytes that nobody can guess, each as two hexadecimal digits.
std::string random_hex(std::size_t bytes);

/// HKDF (RFC 5869) with SHA-384. Fills `key`; INTERNAL where OpenSSL cannot.
Status hkdf_sha384(std::string_view secret, std::string_view salt, std::string_view context,
                   std::span<unsigned char> key);

/// The key with which the hosts of one job open connections. Wiped from memory at its end.
class JobKey {
 public:
  /// Another job of the same secret has another key.
  static Result<JobKey> derive(const Secret& secret, std::string_view job);
  JobKey(const JobKey&) = default;
  JobKey& operator=(const JobKey&) = default;
  ~JobKey();

  std::span<const unsigned char> bytes() const { return bytes_; }

 private:
  JobKey() = default;
  std::array<unsigned char, 48> bytes_{};
};

}  // namespace baleen::launchers

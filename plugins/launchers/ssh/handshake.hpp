/// \file How two hosts prove to each other that they know the job's secret, as bytes: no socket, no clock.
///
///   first host               another host
///   hello: job, nonce   ->
///                       <-   join: its index, its nonce, proof
///   answer: proof       ->
///
/// A proof is an HMAC under the secret over who speaks, the job, both nonces and the index; both sides draw a fresh
/// nonce, so what was recorded proves nothing later or elsewhere. Every message has a fixed size: there is no length to
/// lie about.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "baleen/result.hpp"
#include "digest.hpp"
#include "secret.hpp"

namespace baleen::launchers {

/// Keys of one connection, one for each direction.
struct LinkKeys {
  Digest from_first{}, to_first{};
};

constexpr std::size_t kMagicBytes = 16, kJobBytes = 16;
constexpr std::size_t kHelloBytes = kMagicBytes + kJobBytes + sizeof(Digest);
constexpr std::size_t kJoinBytes = kMagicBytes + 8 + 2 * sizeof(Digest);
constexpr std::size_t kAnswerBytes = 1 + sizeof(Digest);

/// A fresh name of a job: 16 hexadecimal digits, no secret.
std::string fresh_job();

/// Whether the first bytes of a connection may become a join.
bool is_join_so_far(std::string_view bytes);

/// The job that a hello of `kHelloBytes` speaks of; nothing where it is no hello of this version.
std::optional<std::string> job_of(std::string_view hello);

/// The first host's side of one connection.
class Doorkeeper {
 public:
  /// Borrows the secret. `job` is from `fresh_job`.
  Doorkeeper(const Secret& secret, std::string job);

  /// What to say first.
  std::string hello() const;

  struct Admission {
    int host = 0;  ///< that the caller says it is
    std::string answer;
    LinkKeys keys;
  };
  /// Judges a join of `kJoinBytes`. Nothing: the caller has proven nothing, and `refusal()` is the answer.
  std::optional<Admission> admit(std::string_view join) const;
  static std::string refusal() { return std::string(kAnswerBytes, '\0'); }

 private:
  const Secret& secret_;
  std::string job_;
  Digest nonce_;
};

/// The other host's side of one connection.
class Caller {
 public:
  /// Borrows the secret.
  Caller(const Secret& secret, int host);

  /// What to say to a hello of `kHelloBytes`. INVALID: that is no hello of this version.
  Result<std::string> join(std::string_view hello);
  /// Judges an answer of `kAnswerBytes`. INVALID: the other side does not believe us, or proves nothing itself.
  Result<LinkKeys> conclude(std::string_view answer) const;

 private:
  const Secret& secret_;
  int host_;
  Digest nonce_;
  std::string agreed_;  ///< what both sides prove that they know: job, nonces, index
};

}  // namespace baleen::launchers

/// \file Encodes the messages of the handshake, computes proofs and compares them.
#include "handshake.hpp"

#include <utility>

namespace baleen::launchers {
namespace {

constexpr std::string_view kMagic = "baleen hosts 1\r\n";
static_assert(kMagic.size() == kMagicBytes);
constexpr char kWelcome = 'w';
constexpr std::size_t kIndexBytes = 8;

std::string index_bytes(int host) {
  std::string bytes;
  for (std::size_t i = 0; i < kIndexBytes; ++i)
    bytes += static_cast<char>((static_cast<std::uint64_t>(host) >> (8 * i)) & 0xff);
  return bytes;
}

/// Nothing where it is no index that a host can have.
std::optional<int> index_from(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kIndexBytes; ++i) value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  if (value > (1u << 30)) return std::nullopt;
  return static_cast<int>(value);
}

/// The purpose stands before what was agreed, so that no proof serves another.
Digest derived(const Secret& secret, std::string_view purpose, const std::string& agreed) {
  return hmac_sha256(secret.text(), std::string(purpose) + '\0' + agreed);
}

LinkKeys keys_of(const Secret& secret, const std::string& agreed) {
  return {derived(secret, "key from the first host", agreed), derived(secret, "key to the first host", agreed)};
}

}  // namespace

std::string fresh_job() { return hex(as_text(random_digest()).substr(0, kJobBytes / 2)); }

bool is_join_so_far(std::string_view bytes) {
  const std::string_view magic = bytes.substr(0, kMagicBytes);
  return magic == kMagic.substr(0, magic.size());
}

std::optional<std::string> job_of(std::string_view hello) {
  if (hello.size() != kHelloBytes || !hello.starts_with(kMagic)) return std::nullopt;
  const std::string_view job = hello.substr(kMagicBytes, kJobBytes);
  if (job.find_first_not_of("0123456789abcdef") != std::string_view::npos) return std::nullopt;
  return std::string(job);
}

Doorkeeper::Doorkeeper(const Secret& secret, std::string job)
    : secret_(secret), job_(std::move(job)), nonce_(random_digest()) {}

std::string Doorkeeper::hello() const { return std::string(kMagic) + job_ + std::string(as_text(nonce_)); }

std::optional<Doorkeeper::Admission> Doorkeeper::admit(std::string_view join) const {
  if (join.size() != kJoinBytes || !join.starts_with(kMagic)) return std::nullopt;
  const std::string_view said = join.substr(kMagicBytes, kIndexBytes + sizeof(Digest));
  const std::string agreed = job_ + std::string(as_text(nonce_)) + std::string(said);
  if (!is_same(join.substr(kMagicBytes + said.size()), as_text(derived(secret_, "joins", agreed)))) return std::nullopt;
  const auto host = index_from(said);
  if (!host) return std::nullopt;
  const Digest proof = derived(secret_, "welcomes", agreed);
  return Admission{*host, kWelcome + std::string(as_text(proof)), keys_of(secret_, agreed)};
}

Caller::Caller(const Secret& secret, int host) : secret_(secret), host_(host), nonce_(random_digest()) {}

Result<std::string> Caller::join(std::string_view hello) {
  const auto job = job_of(hello);
  if (!job) return invalid("what answers there is no Baleen of this version");
  const std::string said = index_bytes(host_) + std::string(as_text(nonce_));
  agreed_ = *job + std::string(hello.substr(kMagicBytes + kJobBytes)) + said;
  return std::string(kMagic) + said + std::string(as_text(derived(secret_, "joins", agreed_)));
}

Result<LinkKeys> Caller::conclude(std::string_view answer) const {
  if (answer.size() != kAnswerBytes || answer.front() != kWelcome)
    return invalid("it knows another secret; give every host the same one");
  if (!is_same(answer.substr(1), as_text(derived(secret_, "welcomes", agreed_))))
    return invalid("what answers there does not know the job's secret, so it is not the first host");
  return keys_of(secret_, agreed_);
}

}  // namespace baleen::launchers

/// \file Writes and reads hellos: "baleen hosts 2", the job, and a line that fills it up.
#include "hello.hpp"

#include <charconv>

#include "crypto.hpp"

namespace baleen::launchers {
namespace {

constexpr std::string_view kProgram = "baleen hosts ", kVersion = "2", kLineEnd = "\r\n";
constexpr std::string_view kRest = "speaks TLS 1.3 with the secret\r\n";
constexpr std::size_t kJobBytes = 16;
constexpr std::string_view kIdentity = "baleen host ";
constexpr int kMostHosts = 1 << 30;
static_assert(kProgram.size() + kVersion.size() + kLineEnd.size() + kJobBytes + kRest.size() == kHelloBytes);

/// Of another program of this name; empty where it is none.
std::string_view version_of(std::string_view hello) {
  if (!hello.starts_with(kProgram)) return {};
  hello.remove_prefix(kProgram.size());
  const std::string_view version = hello.substr(0, hello.find(kLineEnd));
  return version.size() < 3 && version.find_first_not_of("0123456789") == version.npos ? version : std::string_view();
}

}  // namespace

std::string fresh_job() { return random_hex(kJobBytes / 2); }

std::string hello_of(std::string_view job) {
  std::string hello;
  for (const std::string_view part : {kProgram, kVersion, kLineEnd, job, kRest}) hello += part;
  return hello;
}

Result<std::string> job_of(std::string_view hello) {
  const std::string_view version = version_of(hello);
  if (version.empty()) return invalid("what answers there is no Baleen");
  if (version != kVersion)
    return invalid("it speaks version " + std::string(version) +
                   " of the protocol between hosts, and this host version " + std::string(kVersion) +
                   "; install the same Baleen on every host");
  const std::string_view job = hello.substr(hello.find(kLineEnd) + kLineEnd.size()).substr(0, kJobBytes);
  if (hello != hello_of(job) || job.find_first_not_of("0123456789abcdef") != job.npos)
    return invalid("what answers there is no Baleen");
  return std::string(job);
}

std::string identity_of(int host) { return std::string(kIdentity) + std::to_string(host); }

std::optional<int> host_from(std::string_view identity) {
  if (!identity.starts_with(kIdentity)) return std::nullopt;
  identity.remove_prefix(kIdentity.size());
  int host = -1;
  const char* const end = identity.data() + identity.size();
  const auto [stop, code] = std::from_chars(identity.data(), end, host);
  if (code != std::errc() || stop != end || host < 0 || host > kMostHosts) return std::nullopt;
  return host;
}

}  // namespace baleen::launchers

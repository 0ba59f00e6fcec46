/// \file Reads and writes secrets in files of mode 0600.
#include "secret.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "baleen/file_handle.hpp"
#include "crypto.hpp"

namespace baleen::launchers {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::size_t kLongestFile = 4096;
constexpr int kLargestPort = 65535;

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

Error system_error(const std::string& what, const std::string& file) {
  return {errno == ENOENT ? BALEEN_NOT_FOUND : BALEEN_IO, what + ": " + std::strerror(errno), file};
}

std::string octal(unsigned mode) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%04o", mode);
  return text.data();
}

/// Up to the end, or to the end of a line where `line`; never much.
std::string read_text(int descriptor, bool line) {
  std::string text;
  char byte = 0;
  while (text.size() < kLongestFile) {
    const ssize_t got = ::read(descriptor, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || (line && byte == '\n')) break;
    text += byte;
  }
  return text;
}

}  // namespace

Secret::~Secret() { explicit_bzero(text_.data(), text_.size()); }

Secret Secret::fresh() { return Secret(random_hex(32)); }

Result<Secret> Secret::from(std::string_view text, const std::string& where) {
  const std::string_view found = trimmed(text);
  if (found.size() >= kShortest) return Secret(found);
  return invalid("a secret of " + std::to_string(found.size()) + " characters; it needs " + std::to_string(kShortest) +
                     " or more. `baleen secret FILE` makes one",
                 where);
}

Result<Secret> Secret::read(const std::string& file) {
  const FileHandle handle(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!handle) return system_error("the secret cannot be read", file);
  struct stat status = {};
  if (fstat(handle.get(), &status) != 0) return system_error("the secret cannot be read", file);
  if (!S_ISREG(status.st_mode)) return invalid("not a file", file);
  if (status.st_mode & (S_IRWXG | S_IRWXO))
    return invalid("others may use this file (its mode is " + octal(status.st_mode & 07777) +
                       "), so what it holds is no secret; chmod 600 it, better with a new one",
                   file);
  std::string text = read_text(handle.get(), false);
  auto secret = from(text, file);
  explicit_bzero(text.data(), text.size());
  return secret;
}

Status Secret::write(const std::string& file) const {
  const FileHandle handle(open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!handle && errno == EEXIST) return invalid("is there already; a secret is not overwritten", file);
  if (!handle) return system_error("the secret cannot be written", file);
  const std::string line = text_ + '\n';
  if (::write(handle.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size())) return {};
  return system_error("the secret cannot be written", file);
}

std::string StartWord::line() const { return secret.text() + ' ' + std::to_string(port) + '\n'; }

Result<StartWord> StartWord::from(std::string_view line) {
  const std::size_t blank = line.rfind(' ');
  StartWord word;
  const char* const end = line.data() + line.size();
  const auto [stop, code] = blank == line.npos ? std::from_chars_result{end, std::errc::invalid_argument}
                                               : std::from_chars(line.data() + blank + 1, end, word.port);
  if (code != std::errc() || stop != end || word.port < 1 || word.port > kLargestPort)
    return invalid("no word of the first host on standard input; `--secret-file -` is how it starts the others");
  BALEEN_TRY_ASSIGN(word.secret, Secret::from(line.substr(0, blank), "the first host's word"));
  return word;
}

Result<StartWord> StartWord::read(int descriptor) {
  std::string text = read_text(descriptor, true);
  auto word = from(text);
  explicit_bzero(text.data(), text.size());
  return word;
}

}  // namespace baleen::launchers

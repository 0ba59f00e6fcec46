/// \file What the process writes to its standard output while this object lives, through a file or a terminal.
#pragma once
#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

namespace baleen::test {

/// Into a plain file.
class CapturedOutput {
 public:
  CapturedOutput() : file_(std::tmpfile()) {
    std::fflush(stdout);
    saved_ = ::dup(STDOUT_FILENO);
    ::dup2(::fileno(file_), STDOUT_FILENO);
  }
  ~CapturedOutput() {
    restore();
    std::fclose(file_);
  }
  CapturedOutput(const CapturedOutput&) = delete;

  /// Ends the capture and returns what was written.
  std::string text() {
    restore();
    std::string all(static_cast<std::size_t>(::lseek(::fileno(file_), 0, SEEK_END)), '\0');
    const auto got = ::pread(::fileno(file_), all.data(), all.size(), 0);
    return all.substr(0, got > 0 ? static_cast<std::size_t>(got) : 0);
  }

 private:
  void restore() {
    if (saved_ < 0) return;
    std::fflush(stdout);
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
    saved_ = -1;
  }
  std::FILE* file_;
  int saved_ = -1;
};

/// A pseudo terminal of a given width.
class FakeTerminal {
 public:
  explicit FakeTerminal(int columns) {
    if (::openpty(&master_, &slave_, nullptr, nullptr, nullptr) != 0) throw std::runtime_error("no pseudo terminal");
    ::fcntl(master_, F_SETFL, O_NONBLOCK);
    resize(columns);
  }
  ~FakeTerminal() {
    ::close(master_);
    ::close(slave_);
  }
  FakeTerminal(const FakeTerminal&) = delete;

  int descriptor() const { return slave_; }
  void resize(int columns) {
    const winsize size{24, static_cast<unsigned short>(columns), 0, 0};
    ::ioctl(master_, TIOCSWINSZ, &size);
  }
  /// As if a person had pressed these keys.
  void type(std::string_view keys) { [[maybe_unused]] const auto got = ::write(master_, keys.data(), keys.size()); }
  /// What was written since the last call.
  std::string text() {
    std::string all;
    char block[4096];
    for (ssize_t got; (got = ::read(master_, block, sizeof(block))) > 0;)
      all.append(block, static_cast<std::size_t>(got));
    return all;
  }

 private:
  int master_ = -1, slave_ = -1;
};

}  // namespace baleen::test

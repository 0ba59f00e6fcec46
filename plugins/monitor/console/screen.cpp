/// \file Screen over isatty, ioctl and write.
#include "screen.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace baleen::console {

bool Screen::is_terminal() const {
  const char* kind = std::getenv("TERM");
  return ::isatty(descriptor_) == 1 && !(kind && std::string_view(kind) == "dumb");
}

bool Screen::has_colour() const {
  const char* refused = std::getenv("NO_COLOR");
  return is_terminal() && !(refused && *refused);
}

int Screen::width() const {
  winsize size{};
  return ::ioctl(descriptor_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void Screen::write(std::string_view text) {
  while (!text.empty() && error_ == 0) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (written < 0 && errno != EINTR) {
      error_ = errno;
    }
  }
}

int Screen::failure() const {
  struct stat about {};
  const bool is_file = ::fstat(descriptor_, &about) == 0 && S_ISREG(about.st_mode);
  const bool has_nobody = error_ == EPIPE || (error_ == EIO && !is_file);  // a terminal that is gone is EIO
  return has_nobody ? 0 : error_;
}

}  // namespace baleen::console

/// \file Whole lines, in writes that no other process's line can tear.
#include "common/output.hpp"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace baleen::launchers {

void Output::add(std::string_view whole_lines) {
  if (!lost_) waiting_ += whole_lines;
}

void Output::flush() {
  if (waiting_.empty()) return;
  // A pipe that poll calls ready takes PIPE_BUF bytes, in one piece.
  const std::size_t most = std::min<std::size_t>(waiting_.size() - sent_, PIPE_BUF);
  const std::size_t line_end = std::string_view(waiting_).substr(sent_, most).rfind('\n');
  const ssize_t written =
      write(descriptor_, waiting_.data() + sent_, line_end == std::string_view::npos ? most : line_end + 1);
  const int reason = written < 0 ? errno : 0;
  if (reason == EINTR || reason == EAGAIN) return;
  lost_ = written < 0;
  if (lost_ && reason != EPIPE && has_reader()) reason_ = reason;
  sent_ += lost_ ? 0 : static_cast<std::size_t>(written);
  if (!lost_ && sent_ < waiting_.size()) return;
  waiting_.clear();
  sent_ = 0;
}

Status Output::taken() const {
  if (reason_ == 0) return {};
  return Error{
      BALEEN_IO, std::string("standard output did not take all that was printed: ") + std::strerror(reason_), {}};
}

bool Output::has_reader() const {
  pollfd end{descriptor_, 0, 0};
  return poll(&end, 1, 0) <= 0 || (end.revents & (POLLERR | POLLHUP)) == 0;
}

void LinePrefix::add(std::string_view bytes, LineSink& to) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    line_ += bytes.substr(0, end);
    if (end != std::string_view::npos || line_.size() > kLongest) pass_line(to);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  }
}

void LinePrefix::end(LineSink& to) {
  if (!line_.empty()) pass_line(to);
}

void LinePrefix::pass_line(LineSink& to) {
  to.add(prefix_ + line_ + '\n');
  line_.clear();
}

}  // namespace baleen::launchers

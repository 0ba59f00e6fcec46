/// \file One of several processes becomes the odd one.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace baleen::test {

/// True in the one process that makes the file; the others find it there.
inline bool first_to_make(std::string_view file) {
  const int made = open(std::string(file).c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
  if (made >= 0) close(made);
  return made >= 0;
}

}  // namespace baleen::test

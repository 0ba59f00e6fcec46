/// \file What this machine is, as `baleen doctor` tells it. Read from /proc and /sys; what cannot be read is empty or
/// 0.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace baleen::app {

struct Machine {
  std::string system;                 ///< name and release of the operating system's kernel
  std::string processor;              ///< the model
  std::vector<std::string> features;  ///< instruction sets that kernels care about
  std::string cores;                  ///< that this process may use (`cpus_text`)
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_free_bytes = 0;
  std::uint64_t memory_limit_bytes = 0;  ///< of the control group; 0: none
  std::uint64_t shared_bytes = 0;        ///< of /dev/shm
  std::uint64_t shared_free_bytes = 0;
  std::string transparent_huge_pages;  ///< "always", "madvise", "never"
  std::uint64_t huge_pages = 0;        ///< reserved
  std::uint64_t huge_page_bytes = 0;
};

Machine look_at_machine();

}  // namespace baleen::app

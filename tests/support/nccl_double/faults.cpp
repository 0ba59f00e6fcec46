/// \file NCCL_DOUBLE_LOG; NCCL_DOUBLE_FAIL, NCCL_DOUBLE_BREAK and NCCL_DOUBLE_DIE: "ncclAllReduce:2" is the second call
/// of that name.
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>

#include "communicator.hpp"

namespace baleen::nccl_double {

void log_line(int rank, const std::string& line) {
  const char* path = std::getenv("NCCL_DOUBLE_LOG");
  if (!path || !*path) return;
  std::ofstream(path + ("." + std::to_string(rank)), std::ios::app) << line + "\n";
}

bool is_to_fail(const char* variable, const char* call) {
  static std::mutex& mutex = *new std::mutex;
  static auto& counts = *new std::map<std::string, int>;
  const char* given = std::getenv(variable);
  if (!given || !*given) return false;
  const std::string text = given, name = text.substr(0, text.find(':'));
  if (name != call) return false;
  const std::lock_guard lock(mutex);
  const std::size_t colon = text.find(':');
  return ++counts[variable + name] == (colon == text.npos ? 1 : std::atoi(text.c_str() + colon + 1));
}

}  // namespace baleen::nccl_double

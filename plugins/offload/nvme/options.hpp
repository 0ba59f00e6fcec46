/// \file The plugin's options as values.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "baleen/settings.hpp"

namespace baleen::nvme {

enum class Engine { kAuto, kUring, kThreads };

struct Options {
  std::vector<std::string> folders;  ///< absolute; one swap file in each
  std::uint64_t stripe = 1u << 20;   ///< bytes that lie in one file before the next one follows; a multiple of 4096
  std::uint32_t request = 1u << 20;  ///< bytes of one read or write, at most; a multiple of 4096
  std::uint32_t depth = 16;          ///< requests under way
  double timeout = 30;               ///< seconds that a request may take
  Engine engine = Engine::kAuto;
  bool direct = true;

  static Result<Options> from(const Settings& settings);
};

}  // namespace baleen::nvme

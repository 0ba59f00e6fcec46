/// \file Names that tell who made a file, and whether that process is alive.
#include <string>

#include "baleen/process_mark.hpp"
#include "swap_files.hpp"

namespace baleen::nvme {
namespace {

constexpr std::string_view kPrefix = "baleen-swap.";

}  // namespace

std::string swap_name(std::uint32_t number) {
  return std::string(kPrefix) + sdk::process_mark() + "." + std::to_string(number);
}

bool is_left_behind(std::string_view name) {
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  std::uint64_t number = 0;
  return sdk::detail::take_last_number(name, number) && sdk::is_mark_of_dead_process(name);
}

}  // namespace baleen::nvme

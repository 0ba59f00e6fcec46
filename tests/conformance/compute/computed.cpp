/// \file Reads the lists.
#include "conformance/compute/computed.hpp"

#include <filesystem>
#include <fstream>

#include "support/places.hpp"

namespace baleen::conformance {

std::string computed_list(const std::string& plugin_path) {
  std::string stem = std::filesystem::path(plugin_path).stem().string();
  stem.erase(0, std::string("baleen_compute_").size());
  return test::source_dir() + "/tests/conformance/compute/computed/" + stem + ".txt";
}

Computed computed_by(const std::string& plugin_path) {
  Computed all;
  std::ifstream file(computed_list(plugin_path));
  for (std::string line; std::getline(file, line);) {
    const std::size_t space = line.rfind(' ');
    if (!line.empty() && line.front() != '#' && space != line.npos) all[line.substr(0, space)] = line.substr(space + 1);
  }
  return all;
}

std::vector<std::tuple<std::string, baleen_dtype_t>> members_that_compute(const std::string& kind,
                                                                          const std::vector<baleen_dtype_t>& dtypes) {
  std::vector<std::tuple<std::string, baleen_dtype_t>> members;
  for (const std::string& path : plugin_paths()) {
    const Computed computed = computed_by(path);
    for (const baleen_dtype_t dtype : dtypes) {
      const auto found = computed.find(std::string(dtype_name(dtype)) + ": " + kind);
      if (found != computed.end() && !found->second.starts_with("0/")) members.emplace_back(path, dtype);
    }
  }
  return members;
}

}  // namespace baleen::conformance

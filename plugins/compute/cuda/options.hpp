/// \file What the plugin's options and the rank's place mean for the choice of a device.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "baleen/plugin.hpp"
#include "driver.hpp"

namespace baleen::cuda {

/// Where the vendor's libraries are looked for first.
std::vector<std::string> library_folders(const Settings& settings);

/// At least one; says so where there is none.
Result<int> count_devices(const Driver& driver);

/// The device of this rank, and how many ranks of the host share it.
struct Share {
  int index = 0, ranks = 1;
};
Result<Share> choose_share(const Settings& settings, int devices);

/// What to say where the host's ranks divide the one device that they see, though it may be another one for each; "":
/// nothing.
std::string division_text(const Settings& settings, int devices, int ranks);

/// Bytes of a device's memory that one of `ranks` that share it may plan for.
std::uint64_t planned_memory(const Settings& settings, std::uint64_t free, std::uint64_t total, int ranks);

/// What the option `architecture` names: 90 of "9.0". 0: whatever is here.
int architecture_of(const Settings& settings);

}  // namespace baleen::cuda

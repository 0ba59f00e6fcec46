/// \file Ranks are dealt out to devices in turn, unless the user says which one.
#include "options.hpp"

#include <algorithm>
#include <cstdlib>

namespace baleen::cuda {
namespace {

// Of the memory, for arenas: the rest is the libraries'.
constexpr double kFraction = 0.9;
constexpr std::string_view kFractionText = "0.9";

}  // namespace

std::vector<std::string> library_folders(const Settings& settings) {
  std::vector<std::string> out;
  for (const std::string_view folder : settings.list("libraries")) {
    const bool relative = folder.front() != '/';
    out.push_back(relative ? std::string(settings.folder()) + "/" + std::string(folder) : std::string(folder));
  }
  return out;
}

Result<int> count_devices(const Driver& driver) {
  int count = 0;
  const CUresult counted = driver.cuDeviceGetCount(&count);
  if (counted != CUDA_SUCCESS && counted != CUDA_ERROR_NO_DEVICE && counted != CUDA_ERROR_NOT_INITIALIZED)
    return driver.check(counted, "counting the CUDA devices").error();
  if (counted == CUDA_SUCCESS && count > 0) return count;
  return Error{BALEEN_NOT_FOUND,
               "the CUDA driver is there, but no device; if there should be one, look at nvidia-smi and at "
               "CUDA_VISIBLE_DEVICES",
               {}};
}

Result<Share> choose_share(const Settings& settings, int devices) {
  const auto rank = static_cast<int>(settings.local_rank()), ranks = static_cast<int>(settings.local_ranks());
  const std::int64_t index = settings.integer("index");
  if (index >= devices)
    return invalid("there is no CUDA device " + std::to_string(index) + "; option `index` can be 0" +
                   (devices > 1 ? " to " + std::to_string(devices - 1) : ""));
  if (index >= 0) return Share{static_cast<int>(index), std::max(1, ranks)};  // the host's ranks have one option
  const int turn = rank % devices;
  return Share{turn, std::max(1, (ranks - turn + devices - 1) / devices)};
}

std::string division_text(const Settings& settings, int devices, int ranks) {
  const bool is_told = settings.integer("memory") > 0 || settings.number("fraction") > 0;
  if (is_told || ranks <= 1 || devices > 1) return {};
  return std::to_string(ranks) +
         " ranks of this host see one CUDA device and count with a part of its memory each (1/" +
         std::to_string(ranks) +
         "); if each sees a device of its own (CUDA_VISIBLE_DEVICES), say `fraction = " + std::string(kFractionText) +
         "` in [compute]";
}

// A rank that comes later finds less free: those that share a device take parts of all of it.
std::uint64_t planned_memory(const Settings& settings, std::uint64_t free, std::uint64_t total, int ranks) {
  if (const std::int64_t asked = settings.integer("memory"); asked > 0) return static_cast<std::uint64_t>(asked) << 20;
  const double fraction = settings.number("fraction");
  if (fraction > 0) return static_cast<std::uint64_t>(fraction * static_cast<double>(free));
  double part = kFraction * static_cast<double>(free);
  if (ranks > 1) part = std::min(part, kFraction * static_cast<double>(total) / ranks);
  return static_cast<std::uint64_t>(part);
}

int architecture_of(const Settings& settings) {
  const std::string_view text = settings.text("architecture");
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return 0;
  return std::atoi(std::string(text.substr(0, dot)).c_str()) * 10 +
         std::atoi(std::string(text.substr(dot + 1)).c_str());
}

}  // namespace baleen::cuda

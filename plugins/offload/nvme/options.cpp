/// \file Reads the options.
#include "options.hpp"

#include <filesystem>

#include "common/block_sums.hpp"

namespace baleen::nvme {

using offload_common::kBlock;
namespace {

Result<std::uint64_t> in_blocks(const Settings& settings, const char* name) {
  const auto value = static_cast<std::uint64_t>(settings.integer(name));
  if (value % kBlock == 0) return value;
  return invalid(std::string("option `") + name + "` = " + std::to_string(value) + " is no multiple of " +
                 std::to_string(kBlock));
}

}  // namespace

Result<Options> Options::from(const Settings& settings) {
  Options options;
  for (const std::string_view path : settings.list("path")) {
    std::string folder = (std::filesystem::path(settings.folder()) / path).lexically_normal().string();
    if (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    options.folders.push_back(std::move(folder));
  }
  if (options.folders.empty()) return invalid("option `path` names no folder for swap files");
  BALEEN_TRY_ASSIGN(options.stripe, in_blocks(settings, "stripe"));
  BALEEN_TRY_ASSIGN(const std::uint64_t request, in_blocks(settings, "request"));
  options.request = static_cast<std::uint32_t>(request);
  options.depth = static_cast<std::uint32_t>(settings.integer("depth"));
  options.timeout = settings.number("timeout");
  const std::string_view engine = settings.text("engine");
  options.engine = engine == "io_uring" ? Engine::kUring : engine == "threads" ? Engine::kThreads : Engine::kAuto;
  options.direct = settings.boolean("direct");
  return options;
}

}  // namespace baleen::nvme

/// \file The plugin's options, and what they mean to NCCL.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "baleen/plugin.hpp"
#include "engine.hpp"

namespace baleen::nccl {

struct Options {
  std::string library, driver, interface, algorithm, protocol, debug;
  std::string memory = "auto";    ///< whose memory arenas are: auto, nccl or device
  std::string default_interface;  ///< where `interface` is empty: by which the launcher reaches other hosts, or unknown
  int min_channels = 0, max_channels = 0;
  double timeout = 300;
  std::uint64_t scratch = 64 << 20;  ///< bytes
  bool registers = true;
  bool shares_windows = false;  ///< of NCCL's own memory, where members' buffers lie alike
  bool copy_engine = false;
  bool graphs = false;      ///< collectives may be captured
  bool shares_gpu = false;  ///< ranks may be on one GPU

  static Result<Options> from(const Settings& settings);
  /// Refuses what this NCCL cannot do.
  Status suit(const Functions& nccl) const;

  /// For the communicators.
  Config config() const;
  /// Whether arenas are to be NCCL's own memory.
  bool wants_memory(const Functions& nccl) const;
  /// Whether there are to be windows in it.
  bool wants_windows(const Functions& nccl) const { return windows(nccl).value == "true"; }
  /// What NCCL knows as variables of the environment only. Read by NCCL when the process makes its first communicator.
  std::vector<std::pair<std::string, std::string>> environment(int version, std::int32_t rank) const;
  /// Must be the same on all ranks: "name=value" lines.
  std::string facts(int version) const;
  /// What holds on this rank and who says so, an option, the user's own variables of NCCL, or nobody: "NCCL 2.28.9 from
  /// libnccl.so.2: interface =eth0 (default), algorithm Tree (NCCL_ALGO in the environment), ...". Before
  /// `set_environment`.
  std::string effective(const Functions& nccl) const;

 private:
  /// A setting as it holds, and its source.
  struct Setting {
    std::string value, source;
    std::string text() const { return value + " (" + source + ")"; }
  };
  Setting setting(int version, const char* variable, bool is_given) const;
  Setting channels(bool at_most) const;
  Setting registration(bool can_register) const;
  Setting memory_in_use(const Functions& nccl) const;
  Setting windows(const Functions& nccl) const;
  Setting copy_engines() const;
};

/// Sets the variables of the options that were given. Says in the log which; those that the user has set stay where no
/// option says otherwise.
void set_environment(const Options& options, int version, std::int32_t rank, const Host& host);

}  // namespace baleen::nccl

/// \file `baleen doctor`: the machine, the libraries, the plugins; what is missing and how to get it.
#include <array>
#include <cstdio>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/log/printed.hpp"
#include "core/plugin/kinds.hpp"
#include "frontend/cli/addresses.hpp"
#include "frontend/cli/command_line.hpp"
#include "frontend/cli/commands.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/cli/machine.hpp"
#include "frontend/engine/device_limits.hpp"
#include "frontend/engine/installation.hpp"
#include "frontend/engine/members.hpp"

namespace baleen::app {
namespace {

constexpr std::uint64_t kLittleShared = 256ull << 20;

/// Without one of each there is nothing to train.
constexpr std::array<const char*, 3> kNeeded = {"compute", "data", "optimizer"};

void line(const char* name, const std::string& text) { print_out("%-12s %s\n", name, text.c_str()); }

std::string bytes(std::uint64_t count) {
  std::array<char, 32> text;
  const double gib = static_cast<double>(count) / (1 << 30);
  std::snprintf(text.data(), text.size(), gib < 10 ? "%.2f GiB" : "%.1f GiB", gib);
  return text.data();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text.empty() ? "none" : text;
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

void print_build() {
  line("baleen",
       BALEEN_VERSION ", plugin ABI " + std::to_string(BALEEN_ABI_MAJOR) + "." + std::to_string(BALEEN_ABI_MINOR));
  line("compiler", compiler());
  line("libraries", std::string(Log::library()) + ", " + std::string(manifest_library()) + ", " +
                        std::string(Plugin::library()) + ", " + std::string(command_line_library()));
}

void print_machine(const Machine& machine) {
  line("system", machine.system);
  line("processor", machine.processor.empty() ? "unknown" : machine.processor);
  line("features", joined(machine.features));
  line("cores", machine.cores);
  std::string memory = bytes(machine.memory_bytes) + ", " + bytes(machine.memory_free_bytes) + " free";
  if (machine.memory_limit_bytes)
    memory += ", limited to " + bytes(machine.memory_limit_bytes) + " for this control group";
  line("memory", memory);
  line("/dev/shm", bytes(machine.shared_bytes) + ", " + bytes(machine.shared_free_bytes) + " free");
  line("huge pages", std::to_string(machine.huge_pages) + " reserved of " +
                         std::to_string(machine.huge_page_bytes >> 20) + " MiB, transparent: " +
                         (machine.transparent_huge_pages.empty() ? "unknown" : machine.transparent_huge_pages));
}

/// Opens every plugin, which is the only way to know that it loads. Returns the kinds that have one that does.
std::set<std::string> try_plugins(const Registry& registry) {
  std::set<std::string> usable;
  std::vector<std::string> problems;
  for (const Registry::Rejected& one : registry.rejected()) problems.push_back(one.error.text());
  for (const Descriptor& one : registry.descriptors()) {
    if (const Result<Plugin> plugin = registry.open(one)) {
      usable.insert(one.kind);
    } else {
      problems.push_back(plugin.error().text());
    }
  }
  print_out("\nplugins\n");
  for (const Kind& kind : kinds())
    print_out("  %-10s %s\n", kind.name.data(), joined(registry.names(kind.name)).c_str());
  for (const std::string& problem : problems) print_out("  not usable: %s\n", problem.c_str());
  return usable;
}

/// What the compute plugins that load say of this machine's devices; with the manifest's options where it names one.
void print_devices(const Setup& setup) {
  print_out("\ndevices\n");
  for (const Descriptor& one : setup.registry.descriptors()) {
    if (one.kind != "compute") continue;
    const Result<Plugin> plugin = setup.registry.open(one);
    if (!plugin) continue;
    Member member{one, {}, {}, setup.manifest.folder()};
    if (setup.manifest.compute.plugin == one.name) member.options = setup.manifest.compute.options;
    const Result<SettingsStorage> settings = member.settings(0);
    const auto devices = settings ? list_devices(*plugin, *settings->get()) : settings.error();
    if (!devices) print_out("  %-10s none: %s\n", one.name.c_str(), devices.error().text().c_str());
    for (std::size_t i = 0; devices && i < devices->size(); ++i)
      print_out("  %-10s %s\n", (one.name + " " + std::to_string(i)).c_str(), limits_text((*devices)[i], true).c_str());
  }
}

/// Prints what stops training; true where nothing does.
bool print_missing(const std::set<std::string>& usable) {
  bool possible = true;
  for (const std::string kind : kNeeded) {
    if (usable.contains(kind)) continue;
    possible = false;
    print_out(
        "missing: a usable plugin of kind %s. Those of Baleen are built with it (folder %s) and lie in %s; others are "
        "found with --plugin-path FOLDER\n",
        kind.c_str(), find_kind(kind)->folder.data(), installed_plugins().c_str());
  }
  return possible;
}

void print_advice(const std::set<std::string>& usable, const Machine& machine) {
  if (!usable.contains("checkpoint"))
    print_out("advice: no checkpoint plugin, so nothing can be saved or loaded (folder %s)\n",
              find_kind("checkpoint")->folder.data());
  if (!usable.contains("monitor"))
    print_out("advice: no monitor plugin, so a run is silent (folder %s)\n", find_kind("monitor")->folder.data());
  for (const auto& [kind, what] :
       {std::pair{"transport", "ranks cannot exchange data"}, std::pair{"strategy", "work cannot be split over ranks"}})
    if (!usable.contains(kind))
      print_out("advice: no %s plugin, so %s: a run has one rank (folder %s)\n", kind, what,
                find_kind(kind)->folder.data());
  if (machine.shared_bytes < kLittleShared)
    print_out(
        "advice: /dev/shm is small; ranks on one host may exchange data there. In Docker: --shm-size=2g; else: "
        "mount -o remount,size=50%% /dev/shm\n");
  if (const std::vector<std::string> addresses = public_addresses(); !addresses.empty())
    print_out(
        "advice: strangers may reach %s. Who reaches the ports of ranks on several hosts can end a job, and change its "
        "numbers: close them to others, or set in [transport], where it has them, `devices` of a closed network or "
        "`encrypt = true`\n",
        joined(addresses).c_str());
}

}  // namespace

int doctor_command(const Setup& setup) {
  const Machine machine = look_at_machine();
  print_build();
  print_machine(machine);
  const std::set<std::string> usable = try_plugins(setup.registry);
  print_devices(setup);
  print_out("\n");
  const bool possible = print_missing(usable);
  print_advice(usable, machine);
  print_out("%s\n", possible ? "ready: this machine can train" : "not ready: training needs what is missing above");
  return possible ? kSuccess : kBadInput;
}

}  // namespace baleen::app

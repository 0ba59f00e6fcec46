/// \file Chooses who works on the host's memory, and opens it.
#include "frontend/engine/host_device.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "compiler/codegen/executable.hpp"
#include "core/runtime/job_programs.hpp"
#include "core/runtime/session_memory.hpp"

namespace baleen::app {
namespace {

constexpr const char* kSection = "[host_compute]";

/// Whether a device of it reads and writes the host's memory by its addresses.
Result<bool> works_on_host(const Registry& registry, const Member& member) {
  BALEEN_TRY_ASSIGN(const Plugin plugin, registry.open(member.descriptor));
  BALEEN_TRY_ASSIGN(const SettingsStorage settings, member.settings(0));
  BALEEN_TRY_ASSIGN(const auto device, Device::describe(plugin, *settings.get()));
  return device->host_reaches();
}

/// Those that may be chosen without being named, the best first.
std::vector<Descriptor> candidates(const Registry& registry) {
  std::vector<Descriptor> all;
  for (const Descriptor& one : registry.descriptors())
    if (one.kind == "compute" && one.score >= 0) all.push_back(one);
  std::ranges::stable_sort(all, std::greater(), &Descriptor::score);
  return all;
}

}  // namespace

bool needs_host_device(const Plan& plan, const Device& device, bool maps) {
  return maps && !device.host_reaches() && wants_host_updates(plan);
}

Result<Member> choose_host_compute(const Registry& registry, const Manifest& manifest, const std::string& beside) {
  const ManifestChoice& choice = manifest.host_compute;
  if (!choice.plugin.empty()) {
    BALEEN_TRY_ASSIGN(Descriptor named, registry.find("compute", choice.plugin, choice.where));
    Member member{std::move(named), choice.options, choice.where, manifest.folder()};
    BALEEN_TRY_ASSIGN(const bool works, works_on_host(registry, member));
    if (works) return member;
    return invalid("`" + member.descriptor.name + "` has memory of its own, and " + kSection +
                       " names who updates what lies in the host's; name one that works on that, or none",
                   choice.where);
  }
  for (Descriptor& one : candidates(registry)) {
    Member member{std::move(one), choice.options, choice.where, manifest.folder()};
    const Result<bool> works = works_on_host(registry, member);
    if (works && *works) return member;
    if (!works && !choice.options.empty()) return works.error();
  }
  return unsupported(
      "the plan has updates on the host's cores, which need a compute plugin that works on the host's memory beside `" +
          beside +
          "`, and none is installed; install one (`baleen plugins` lists them), or have the strategy that wants them "
          "there leave updates to the device",
      choice.where);
}

Result<std::unique_ptr<Device>> open_host_device(const Registry& registry, const Manifest& manifest,
                                                 const std::string& beside, std::uint64_t seed, const Place& place,
                                                 bool described, const std::function<Status(Member&)>& prepare) {
  BALEEN_TRY_ASSIGN(Member member, choose_host_compute(registry, manifest, beside));
  BALEEN_TRY(prepare(member));
  BALEEN_TRY_ASSIGN(const SettingsStorage settings, member.settings(seed, place));
  BALEEN_TRY_ASSIGN(const Plugin plugin, registry.open(member.descriptor));
  return described ? Device::describe(plugin, *settings.get()) : Device::create(plugin, *settings.get());
}

namespace {

/// "2 values are updated by the device, since WHY: `a`, `b`"; "" where there are none.
std::string device_text(const std::vector<std::string>& names, const std::string& why) {
  constexpr std::size_t kMost = 4;
  if (names.empty()) return "";
  std::string text = std::to_string(names.size()) + " values are updated by the device, since " + why + ":";
  for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i) text += (i ? ", `" : " `") + names[i] + "`";
  return text + (names.size() > kMost ? ", ..." : "");
}

}  // namespace

std::string host_updates_text(const HostUpdateReport& report, const std::string& why) {
  std::vector<std::string> parts;
  if (report.updates > 0)
    parts.push_back(std::to_string(report.updates) + " updates run on the host's cores, in " +
                    bytes_text(report.in_place_bytes) + " where they lie");
  if (!why.empty()) {
    parts.push_back(device_text(report.on_device, why));
  } else {
    std::vector<std::string> others = report.on_device;
    std::erase_if(others, [&](const std::string& name) { return std::ranges::count(report.beside_inside, name) > 0; });
    parts.push_back(device_text(others, "their update is not elementwise"));
    parts.push_back(device_text(report.beside_inside, "a state of theirs lies in the device: name it in `states` too"));
  }
  std::string text;
  for (const std::string& part : parts)
    if (!part.empty()) text += (text.empty() ? "" : "; ") + part;
  return text;
}

}  // namespace baleen::app

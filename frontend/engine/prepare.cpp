/// \file Checks in the order in which a user would want to hear of them.
#include "frontend/engine/prepare.hpp"

#include "frontend/engine/ranks.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include "frontend/checkpoint/settings.hpp"
#include "frontend/engine/cpu_sets.hpp"
#include "frontend/engine/host_device.hpp"
#include "frontend/engine/threads.hpp"

namespace baleen::app {
namespace {

namespace fs = std::filesystem;

Status check_options(const Member& member) {
  // The seed changes no check; the real one is known when the script has run.
  if (auto settings = member.settings(0); !settings) return std::move(settings).error();
  return {};
}

Result<Opened> open(Member member, const Setup& setup) {
  BALEEN_TRY_ASSIGN(Plugin plugin, setup.registry.open(member.descriptor));
  return Opened{std::move(member), plugin};
}

Result<std::vector<Opened>> open_all(std::vector<Member> members, const Setup& setup) {
  std::vector<Opened> opened;
  for (Member& member : members) {
    BALEEN_TRY_ASSIGN(Opened one, open(std::move(member), setup));
    opened.push_back(std::move(one));
  }
  return opened;
}

Status check_transport(const Registry& registry, const Manifest& manifest, const RankOptions& options) {
  bool named = manifest.ranks() > 1 || !manifest.transport.plugin.empty() || !manifest.transport.options.empty();
  for (const PluginFlag& flag : options.flags) named = named || flag.kind == "transport";
  if (!named) return {};
  BALEEN_TRY_ASSIGN(const Member transport, choose_transport(registry, manifest, options.flags));
  return check_options(transport);
}

/// That what the hosts have as `cores` are lists, whichever host this is.
Status check_cores(const Manifest& manifest) {
  for (const ManifestHost& host : manifest.hosts)
    if (!host.cores.empty())
      if (const auto numbers = cpu_numbers(host.cores, host.cores_where); !numbers)
        return invalid("`cores` of host " + host.name + ": " + numbers.error().message, host.cores_where);
  return {};
}

/// The manifest as it holds on this host.
Result<Manifest> own_manifest(const RankOptions& options, const Setup& setup) {
  const Manifest& manifest = setup.manifest;
  const std::int64_t index = setup.link ? setup.link->place().host_index : options.host.index.value_or(0);
  if (index < static_cast<std::int64_t>(manifest.hosts.size()))
    return manifest.on_host(static_cast<std::size_t>(index));
  return invalid("--host-index " + std::to_string(index) + ": the manifest has " +
                 std::to_string(manifest.hosts.size()) + " hosts, numbered from 0");
}

Result<PreparedTransport> open_ranks(const RankOptions& options, const Setup& setup, const Manifest& manifest) {
  PreparedTransport prepared;
  if (manifest.ranks() == 1) return prepared;
  BALEEN_TRY_ASSIGN(prepared.mesh, mesh_of(manifest));
  BALEEN_TRY_ASSIGN(Member transport, choose_transport(setup.registry, manifest, options.flags));
  BALEEN_TRY_ASSIGN(prepared.transport, open(std::move(transport), setup));
  return prepared;
}

}  // namespace

Result<PreparedTransport> prepare_transport(const RankOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(const Manifest manifest, own_manifest(options, setup));
  BALEEN_TRY(check_cores(manifest));
  BALEEN_TRY(check_transport(setup.registry, manifest, options));
  return open_ranks(options, setup, manifest);
}

Result<Prepared> prepare(const ScriptOptions& options, const Setup& setup) {
  std::error_code code;
  if (!fs::exists(options.script, code)) return Error{BALEEN_NOT_FOUND, "no such script", options.script.string()};
  if (!fs::is_regular_file(options.script, code)) return invalid("not a file", options.script.string());
  BALEEN_TRY_ASSIGN(const Manifest manifest, own_manifest(options, setup));
  BALEEN_TRY(check_cores(manifest));
  const ManifestHost& first = manifest.hosts.front();
  if (manifest.ranks() == 1 && !first.cores.empty()) BALEEN_TRY(keep_to_cpus(first.cores, first.cores_where));
  BALEEN_TRY(check_transport(setup.registry, manifest, options));
  BALEEN_TRY_ASSIGN(Member compute, choose_compute(setup.registry, manifest, options.flags));
  share_threads(compute, setup);
  BALEEN_TRY_ASSIGN(std::vector<Member> monitors, choose_monitors(setup.registry, manifest, options.flags));
  BALEEN_TRY_ASSIGN(std::vector<Member> plan, choose_plan(setup.registry, manifest));
  BALEEN_TRY(check_options(compute));
  if (!manifest.host_compute.where.empty()) {
    BALEEN_TRY_ASSIGN(const Member host, choose_host_compute(setup.registry, manifest, compute.descriptor.name));
    BALEEN_TRY(check_options(host));
  }
  if (!manifest.offload.empty()) {
    BALEEN_TRY_ASSIGN(const std::vector<ChosenPlace> offload, choose_offload(setup.registry, manifest));
    for (const ChosenPlace& one : offload) BALEEN_TRY(check_options(one.member));
  }
  if (manifest.checkpoint) BALEEN_TRY(read_checkpoint_settings(*manifest.checkpoint, manifest.checkpoint_where));
  for (const auto* members : {&monitors, &plan})
    for (const Member& member : *members) BALEEN_TRY(check_options(member));

  BALEEN_TRY_ASSIGN(Opened device, open(std::move(compute), setup));
  BALEEN_TRY_ASSIGN(PreparedTransport transport, open_ranks(options, setup, manifest));
  Prepared prepared{std::move(transport),
                    std::move(device),
                    {},
                    std::nullopt,
                    fs::absolute(options.script, code).parent_path().string()};
  BALEEN_TRY_ASSIGN(prepared.monitors, open_all(std::move(monitors), setup));
  if (manifest.plan) {
    BALEEN_TRY_ASSIGN(prepared.plan, open_all(std::move(plan), setup));
  }
  return prepared;
}

}  // namespace baleen::app

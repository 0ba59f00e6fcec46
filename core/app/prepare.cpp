/// \file Checks in the order in which a user would want to hear of them.
#include "core/app/prepare.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace baleen::app {
namespace {

namespace fs = std::filesystem;

Status check_options(const Member& member) {
  // The seed changes no check; the real one is known when the script has run.
  if (auto settings = member.settings(0); !settings) return std::move(settings).error();
  return {};
}

Status check_ranks(const Setup& setup, const ScriptOptions& options) {
  const Manifest& manifest = setup.manifest;
  if (manifest.ranks() > 1)
    return unsupported("the manifest asks for " + std::to_string(manifest.ranks()) +
                           " ranks; this version runs one. Leave out [mesh], or make its axes 1",
                       manifest.hosts.front().where.empty() ? manifest.file.string() : manifest.hosts.front().where);
  bool named = !manifest.transport.plugin.empty() || !manifest.transport.options.empty();
  for (const PluginFlag& flag : options.flags) named = named || flag.kind == "transport";
  if (!named) return {};
  BALEEN_TRY_ASSIGN(const Member transport, choose_transport(setup.registry, manifest, options.flags));
  return check_options(transport);
}

}  // namespace

Result<Prepared> prepare(const ScriptOptions& options, const Setup& setup) {
  std::error_code code;
  if (!fs::exists(options.script, code)) return Error{BALEEN_NOT_FOUND, "no such script", options.script.string()};
  if (!fs::is_regular_file(options.script, code)) return invalid("not a file", options.script.string());
  BALEEN_TRY(check_ranks(setup, options));
  BALEEN_TRY_ASSIGN(Member compute, choose_compute(setup.registry, setup.manifest, options.flags));
  BALEEN_TRY(check_options(compute));
  BALEEN_TRY_ASSIGN(std::vector<Member> monitors, choose_monitors(setup.registry, setup.manifest, options.flags));
  for (const Member& monitor : monitors) BALEEN_TRY(check_options(monitor));
  Prepared prepared{std::move(compute), std::move(monitors), std::nullopt,
                    fs::absolute(options.script, code).parent_path().string()};
  if (setup.manifest.plan) {
    BALEEN_TRY_ASSIGN(prepared.plan, choose_plan(setup.registry, setup.manifest));
    for (const Member& strategy : *prepared.plan) BALEEN_TRY(check_options(strategy));
  }
  return prepared;
}

}  // namespace baleen::app

/// \file `baleen bench transport`: every collective of the manifest's transport, by size and group.
#include <algorithm>
#include <utility>

#include "core/input/nearest.hpp"
#include "core/log/printed.hpp"
#include "frontend/cli/bench_call.hpp"
#include "frontend/cli/commands.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/cli/launch_run.hpp"
#include "frontend/cli/transport_bench.hpp"
#include "frontend/engine/json.hpp"
#include "frontend/engine/prepare.hpp"
#include "frontend/engine/ranks.hpp"

namespace baleen::app {
namespace {

using Axes = std::vector<std::string>;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

/// Each axis that has several ranks, and all of them together.
std::vector<Axes> default_groups(const Mesh& mesh) {
  std::vector<Axes> groups;
  Axes all;
  for (const MeshAxis& axis : mesh.axes) {
    if (axis.size < 2) continue;
    groups.push_back({axis.name});
    all.push_back(axis.name);
  }
  if (all.size() > 1) groups.push_back(all);
  return groups;
}

Result<std::vector<Axes>> chosen_groups(const BenchOptions& options, const Mesh& mesh) {
  if (options.groups.empty()) return default_groups(mesh);
  std::vector<std::string> known;
  for (const MeshAxis& axis : mesh.axes) known.push_back(axis.name);
  std::vector<Axes> groups;
  for (const std::string& text : options.groups) {
    Axes axes = split(text, '+');
    for (const std::string& axis : axes)
      if (mesh.find(axis) < 0) return invalid(unknown_word("axis of the mesh", axis, known), "--group");
    groups.push_back(std::move(axes));
  }
  return groups;
}

/// Sizes that grow fourfold, and the last.
std::vector<std::uint64_t> sizes(const BenchOptions& options) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = options.from; bytes < options.to; bytes *= 4) sizes.push_back(bytes);
  sizes.push_back(options.to);
  return sizes;
}

Status check(const BenchOptions& options, const Setup& setup) {
  if (setup.manifest.ranks() < 2)
    return invalid("one rank has nobody to talk to; give a manifest with several `ranks`",
                   setup.manifest.hosts.empty() ? "" : setup.manifest.hosts.front().where);
  for (const std::string& name : options.collectives)
    if (!find_bench_kind(name)) return invalid(unknown_word("collective", name, bench_collectives()), "--collective");
  if (options.from > options.to)
    return invalid("`--from` is " + std::to_string(options.from) + " bytes and `--to` only " +
                   std::to_string(options.to));
  BALEEN_TRY_ASSIGN(const Mesh mesh, mesh_of(setup.manifest));
  BALEEN_TRY_ASSIGN(const auto groups, chosen_groups(options, mesh));
  static_cast<void>(groups);
  return {};
}

std::string size_text(std::uint64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB"};
  int unit = 0;
  for (; unit < 3 && bytes >= 1024 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return std::to_string(bytes) + " " + units[unit];
}

/// The rows of rank 0, as they come.
class Report {
 public:
  Report(bool speaks, bool json) : speaks_(speaks), is_json_(json) {}

  void begin(const std::string& transport, std::int64_t ranks) {
    if (!speaks_) return;
    if (is_json_) {
      json_ = {{"transport", transport}, {"ranks", ranks}, {"points", Json::array()}};
      return;
    }
    print_out("transport %s, %lld ranks; fp32, one after the other, median, on the slowest rank\n", transport.c_str(),
              static_cast<long long>(ranks));
    print_out("%-15s %-16s %7s %10s %13s %12s %12s\n", "collective", "group", "members", "size", "microseconds",
              "algo GB/s", "bus GB/s");
  }
  void add(const BenchPoint& point) {
    if (!speaks_) return;
    if (is_json_) {
      json_["points"].push_back({{"collective", point.collective},
                                 {"group", point.axes},
                                 {"members", point.members},
                                 {"bytes", point.bytes},
                                 {"seconds", json_number(point.seconds)},
                                 {"algorithm_bandwidth", json_number(point.algorithm_bandwidth())},
                                 {"bus_bandwidth", json_number(point.bus_bandwidth())}});
      return;
    }
    print_out("%-15s %-16s %7lld %10s %13.2f %12.3f %12.3f\n", point.collective.c_str(), point.axes.c_str(),
              static_cast<long long>(point.members), size_text(point.bytes).c_str(), point.seconds * 1e6,
              point.algorithm_bandwidth() * 1e-9, point.bus_bandwidth() * 1e-9);
    if (taken_) taken_ = flush_output();
  }
  /// The first error of printing: the ranks go on together to the end.
  Status end() {
    if (speaks_ && is_json_) return print_output(json_text(json_) + "\n");
    return taken_;
  }

 private:
  bool speaks_, is_json_;
  Status taken_;
  Json json_;
};

Status measure_all(const BenchOptions& options, const Mesh& mesh, Ranks& ranks, Report& report) {
  BALEEN_TRY_ASSIGN(const auto bench, TransportBench::create(ranks.communicator(), options.to,
                                                             options.own_memory || !ranks.communicator().allocates()
                                                                 ? TransportBench::Memory::own
                                                                 : TransportBench::Memory::arena));
  BALEEN_TRY_ASSIGN(const std::vector<Axes> groups, chosen_groups(options, mesh));
  const auto& names = options.collectives.empty() ? bench_collectives() : options.collectives;
  for (const Axes& axes : groups)
    for (const std::string& name : names) {
      const bool sized = find_bench_kind(name)->shape != BenchShape::nothing;
      for (const std::uint64_t bytes : sized ? sizes(options) : std::vector<std::uint64_t>{0}) {
        BALEEN_TRY_ASSIGN(const BenchPoint point, bench->measure(name, axes, bytes, options.seconds));
        report.add(point);
      }
    }
  return ranks.meet_at_end();
}

Status bench(const BenchOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(const PreparedTransport prepared, prepare_transport(options, setup));
  BALEEN_TRY_ASSIGN(const auto ranks, Ranks::connect(options, setup, *prepared.transport, prepared.mesh));
  Report report(ranks->place().rank == 0, options.json);
  report.begin(text_of(prepared.transport->member), ranks->place().ranks);
  BALEEN_TRY(measure_all(options, prepared.mesh, *ranks, report));
  if (setup.link) setup.link->begins(-1);  // what goes wrong now is none of the collectives'
  return report.end();
}

}  // namespace

int bench_command(const BenchOptions& options, const Setup& setup) {
  if (const Status status = check(options, setup); !status) return conclude(setup.log, status, setup.link);
  if (starts_ranks(setup)) return launch_run(options, setup);
  return conclude(setup.log, bench(options, setup), setup.link);
}

}  // namespace baleen::app

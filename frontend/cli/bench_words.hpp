/// \file The words of `baleen bench`. For command_line.cpp alone.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "frontend/cli/commands.hpp"
#include "frontend/cli/option_checks.hpp"

namespace baleen::app {

inline void add_bench_words(CLI::App& sub, std::string& what, BenchOptions& out) {
  // A word, not a subcommand, so that options may stand on either side of it.
  sub.add_option("WHAT", what, "What to measure: transport, every collective by size and group")
      ->required()
      ->check(CLI::IsMember({"transport"}))
      ->type_name("");
  sub.add_option("--collective", out.collectives, "Only this one; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  sub.add_option("--group", out.groups,
                 "Only groups along these axes of the mesh, as in data or data+tensor; may be repeated")
      ->type_name("AXES")
      ->allow_extra_args(false);
  const auto size = [&](const char* word, std::uint64_t& bytes, const char* help) {
    sub.add_option(word, bytes, help)
        ->type_name("BYTES")
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::Range(std::uint64_t{4}, std::uint64_t{1} << 40));
  };
  size("--from", out.from, "The smallest size, as in 8 or 64KiB; sizes grow fourfold [8]");
  size("--to", out.to, "The largest size [256MiB]");
  sub.add_option("--seconds", out.seconds, "How long to measure each size")
      ->type_name("X")
      ->capture_default_str()
      ->check(range_check(1e-3, 3600));
  sub.add_flag("--own-memory", out.own_memory, "Buffers that are not the transport's own");
  sub.add_flag("--json", out.json, "For programs: everything, as one JSON object");
}

}  // namespace baleen::app

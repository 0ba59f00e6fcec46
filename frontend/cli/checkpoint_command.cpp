/// \file `baleen checkpoint`: looks at one, tests it; what it writes is in exchange_command.

#include "baleen/dtype.hpp"
#include "core/log/printed.hpp"
#include "frontend/checkpoint/checkpoints.hpp"
#include "frontend/checkpoint/whole_tensors.hpp"
#include "frontend/cli/commands.hpp"
#include "frontend/cli/exchange_command.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/engine/json.hpp"
#include "frontend/engine/learned.hpp"

namespace baleen::app {
namespace {

std::uint64_t bytes_of(const ValueType& type) {
  return static_cast<std::uint64_t>(element_count(type.shape)) * dtype_size(type.dtype);
}

std::uint64_t bytes_of(const ShardFolder& folder) {
  std::uint64_t bytes = 0;
  for (const auto& [name, type] : folder.tensors()) bytes += bytes_of(type);
  return bytes;
}

/// What is long and for programs alone.
bool is_table(const std::string& fact) { return fact == "digests" || fact == "parameters" || fact == kLearnedFact; }

void print_json(const ShardFolder& folder, const std::filesystem::path& path) {
  Json json = {{"path", path.string()}, {"facts", Json::object()}, {"tensors", Json::object()}};
  for (const auto& [name, text] : folder.facts()) json["facts"][name] = text;
  for (const auto& [name, type] : folder.tensors())
    json["tensors"][name] = {{"dtype", dtype_name(type.dtype)}, {"shape", type.shape}, {"bytes", bytes_of(type)}};
  print_out("%s\n", json_text(json).c_str());
}

void print_text(const ShardFolder& folder, const std::filesystem::path& path) {
  print_out("%s\n", path.string().c_str());
  for (const auto& [name, text] : folder.facts())
    if (!is_table(name)) print_out("  %-17s %s\n", name.c_str(), text.c_str());
  print_out("  %-17s %zu, %.1f MiB\n", "tensors", folder.tensors().size(),
            static_cast<double>(bytes_of(folder)) / (1 << 20));
  for (const auto& [name, type] : folder.tensors())
    print_out("  %-48s %s\n", name.c_str(), type_text(type.dtype, type.shape).c_str());
}

/// A file's tensors, or those of another framework's folder.
void print_source(const TensorSource& source, const std::string& path, bool json) {
  if (json) {
    Json all = {{"path", path}, {"tensors", Json::object()}};
    for (const auto& [name, type] : source.tensors())
      all["tensors"][name] = {{"dtype", dtype_name(type.dtype)},
                              {"shape", type.shape},
                              {"bytes", bytes_of(type)},
                              {"file", source.file_of(name)}};
    print_out("%s\n", json_text(all).c_str());
    return;
  }
  std::uint64_t bytes = 0;
  for (const auto& [name, type] : source.tensors()) bytes += bytes_of(type);
  print_out("%s\n  %-17s %zu, %.1f MiB\n", path.c_str(), "tensors", source.tensors().size(),
            static_cast<double>(bytes) / (1 << 20));
  for (const auto& [name, type] : source.tensors())
    print_out("  %-48s %s\n", name.c_str(), type_text(type.dtype, type.shape).c_str());
}

Status inspect(const CheckpointOptions& options, const ShardFolder& folder, const std::filesystem::path& path) {
  if (options.json)
    print_json(folder, path);
  else
    print_text(folder, path);
  return {};
}

Status perform(const CheckpointOptions& options, const Setup& setup) {
  using Verb = CheckpointOptions::Verb;
  if (options.verb != Verb::inspect && options.verb != Verb::verify) return exchange(options, setup);
  if (options.verb == Verb::inspect) {
    BALEEN_TRY_ASSIGN(const auto source, open_foreign(options.path, setup));
    if (source) {
      print_source(*source, options.path.string(), options.json);
      return {};
    }
  }
  BALEEN_TRY_ASSIGN(const ShardFormat format, ShardFormat::find(setup.registry, "", ""));
  BALEEN_TRY_ASSIGN(const auto path, find_checkpoint(options.path.string(), options.path, format));
  if (options.verb == Verb::verify) BALEEN_TRY(verify_checkpoint(format, *path));
  BALEEN_TRY_ASSIGN(const auto folder, format.open(path->string()));
  if (options.verb == Verb::inspect) return inspect(options, *folder, *path);
  print_out("%s: intact, %zu tensors, %.1f MiB\n", path->string().c_str(), folder->tensors().size(),
            static_cast<double>(bytes_of(*folder)) / (1 << 20));
  return {};
}

}  // namespace

int checkpoint_command(const CheckpointOptions& options, const Setup& setup) {
  return conclude(setup.log, perform(options, setup), setup.link);
}

}  // namespace baleen::app

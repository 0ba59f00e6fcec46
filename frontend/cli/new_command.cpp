/// \file `baleen new`: a folder with a plugin that works, made of the templates that are installed beside the program.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/input/nearest.hpp"
#include "core/log/printed.hpp"
#include "frontend/cli/commands.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/engine/installation.hpp"

namespace baleen::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 31;  // what a descriptor holds

// How test.sh trains, once the plugin is built and validated.
constexpr std::string_view kTrain = R"("$baleen" run job.lua --manifest manifest.toml)";
constexpr std::string_view kTrainAndCompare = R"("$baleen" verify job.lua --manifest manifest.toml  # against one rank
"$baleen" run job.lua --manifest manifest.toml)";
constexpr std::string_view kTrainAsTold =
    R"(# What torchrun or a batch system does: start each rank, and tell it by the environment which one it is.
export JOB=$$-$(date +%s) WORLD_SIZE=2 LOCAL_WORLD_SIZE=2
RANK=1 LOCAL_RANK=1 "$baleen" run job.lua --manifest manifest.toml &
RANK=0 LOCAL_RANK=0 "$baleen" run job.lua --manifest manifest.toml
wait $!)";
/// Words of `validate` for what the template's options require.
constexpr std::string_view kWithFolder = " --set folder=build/ranks";
constexpr std::string_view kTrainAndGoOn = R"("$baleen" run job.lua --manifest manifest.toml --save trained.@NAME@
"$baleen" run job.lua --manifest manifest.toml --load trained.@NAME@)";

/// The job of most kinds is one, `job.lua`, and says what the plugin has to do with it.
/// Empty: the kind has a job of its own, job_KIND.lua.
constexpr std::string_view kOwnJob;
constexpr std::string_view kWatched = "The monitor `@NAME@` watches (manifest.toml).";
constexpr std::string_view kShared = "The strategy `@NAME@` shares the work among two ranks (manifest.toml).";
constexpr std::string_view kKept = "`--save trained.@NAME@` keeps what was learned.";
constexpr std::string_view kComputed = "Two devices of the plugin `@NAME@` compute it (manifest.toml).";
constexpr std::string_view kJoined =
    "Two ranks tell each other their gradients by the transport `@NAME@` (manifest.toml).";
constexpr std::string_view kTold = "Two ranks meet by the launcher `@NAME@` (manifest.toml).";
constexpr std::string_view kStored = "The optimizer's states lie in the store `@NAME@` (manifest.toml).";

// What its build does besides; behind the line of the plugin itself.
constexpr std::string_view kReductions = R"(
baleen_add_reductions(baleen_@KIND@_@NAME@)  # sums of many arrays at the speed of memory)";

/// What a kind's plugin is made of.
struct Template {
  std::string_view kind;
  std::string_view source, source_name;  ///< in `template`, and the name in its descriptor
  std::string_view c_source, c_name;     ///< the same in C; "": there is none
  std::string_view manifest;             ///< in `new`, as the job is
  std::string_view about;                ///< in the job
  std::string_view train = kTrain;
  std::string_view build = {}, validate = {};
};

constexpr Template kTemplates[] = {
    {"optimizer", "descent.cpp", "descent", "descent.c", "descent_c", "manifest.toml", kOwnJob},
    {"data", "rings.cpp", "rings", "", "", "manifest.toml", kOwnJob},
    {"monitor", "csv.cpp", "csv", "", "", "manifest_monitor.toml", kWatched},
    {"op", "outer.cpp", "products", "", "", "manifest.toml", kOwnJob},
    {"strategy", "replicas.cpp", "replicas", "", "", "manifest_strategy.toml", kShared, kTrainAndCompare},
    {"checkpoint", "plain.cpp", "plain", "", "", "manifest.toml", kKept, kTrainAndGoOn},
    {"offload", "swap.cpp", "swap", "", "", "manifest_offload.toml", kStored},
    {"compute", "loops.cpp", "loops", "", "", "manifest_compute.toml", kComputed, kTrainAndCompare},
    {"transport", "pipes.cpp", "pipes", "", "", "manifest_transport.toml", kJoined, kTrainAndCompare, kReductions},
    {"launcher",
     "environment.cpp",
     "environment",
     "",
     "",
     "manifest_launcher.toml",
     kTold,
     kTrainAsTold,
     {},
     kWithFolder},
};

Result<Template> template_of(const NewOptions& options) {
  std::vector<std::string> known;
  for (const Template& one : kTemplates) {
    known.emplace_back(one.kind);
    if (one.kind != options.kind) continue;
    if (options.in_c && one.c_source.empty())
      return invalid("there is no template in C for kind `" + options.kind + "`; leave --c out");
    return one;
  }
  return invalid(unknown_word("kind", options.kind, known));
}

Status check_name(const std::string& name) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const bool is_word = !name.empty() && letter(name.front()) && std::ranges::all_of(name, [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '_';
  });
  if (is_word && name.size() <= kLongestName) return {};
  return invalid("`" + name + "` is no name for a plugin: use at most " + std::to_string(kLongestName) +
                 " lower-case letters, digits and `_`, a letter first");
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) text.replace(at, from.size(), to);
}

Result<std::string> read_template(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file || text.empty())
    return Error{BALEEN_NOT_FOUND, "the template cannot be read; install Baleen again", path.string()};
  return text;
}

Status write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return Error{BALEEN_IO, std::string("cannot be written: ") + std::strerror(errno), path.string()};
  return {};
}

/// The text of each file, by its name in the new folder.
Result<std::vector<std::pair<std::string, std::string>>> files_of(const NewOptions& options, const Template& chosen) {
  const fs::path shared = lua_library().parent_path();
  const std::string source(options.in_c ? chosen.c_source : chosen.source);
  const std::string own_name(options.in_c ? chosen.c_name : chosen.source_name);
  const std::string source_file = options.name + fs::path(source).extension().string();
  const std::string job = chosen.about.empty() ? "job_" + options.kind + ".lua" : "job.lua";
  std::vector<std::pair<std::string, std::string>> files;
  BALEEN_TRY_ASSIGN(std::string code, read_template(shared / "template" / source));
  replace_all(code, "\"" + own_name + "\"", "\"" + options.name + "\"");
  files.emplace_back(source_file, std::move(code));
  const std::pair<std::string, std::string> others[] = {{"CMakeLists.txt", "CMakeLists.txt"},
                                                        {"test.sh", "test.sh"},
                                                        {"README.md", "README.md"},
                                                        {job, "job.lua"},
                                                        {std::string(chosen.manifest), "manifest.toml"}};
  for (const auto& [from, to] : others) {
    BALEEN_TRY_ASSIGN(std::string text, read_template(shared / "new" / from));
    replace_all(text, "@TRAIN@", std::string(chosen.train));
    replace_all(text, "@VALIDATE@", std::string(chosen.validate));
    replace_all(text, "@BUILD@", std::string(chosen.build));
    replace_all(text, "@ABOUT@", std::string(chosen.about));
    replace_all(text, "@NAME@", options.name);
    replace_all(text, "@KIND@", options.kind);
    replace_all(text, "@SOURCE@", source_file);
    files.emplace_back(to, std::move(text));
  }
  return files;
}

Status make(const NewOptions& options) {
  BALEEN_TRY_ASSIGN(const Template chosen, template_of(options));
  BALEEN_TRY(check_name(options.name));
  const fs::path folder = options.name;
  std::error_code code;
  if (fs::exists(fs::symlink_status(folder, code)))
    return invalid("is there already; choose another name, or remove it", folder.string());
  BALEEN_TRY_ASSIGN(const auto files, files_of(options, chosen));
  if (!fs::create_directory(folder, code))
    return Error{BALEEN_IO, "the folder cannot be made: " + code.message(), folder.string()};
  for (const auto& [name, text] : files) BALEEN_TRY(write_file(folder / name, text));
  fs::permissions(folder / "test.sh", fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                  fs::perm_options::add, code);
  print_out("%s: a plugin of kind %s; ./%s/test.sh builds and tests it\n", options.name.c_str(), options.kind.c_str(),
            options.name.c_str());
  return {};
}

}  // namespace

int new_command(const NewOptions& options, const Setup& setup) {
  const Status made = make(options);
  return made ? kSuccess : report(setup.log, made.error());
}

}  // namespace baleen::app

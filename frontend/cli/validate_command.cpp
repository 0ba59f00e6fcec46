/// \file `baleen validate`: runs the suites of a plugin's kind on it, and tells what failed.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/input/nearest.hpp"
#include "core/log/printed.hpp"
#include "core/plugin/option_value.hpp"
#include "frontend/cli/commands.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/engine/installation.hpp"
#include "frontend/engine/json.hpp"
#include "frontend/validate/cases.hpp"
#include "frontend/validate/launched_rank.hpp"

namespace baleen::app {
namespace {

using validate::Case;
using validate::Outcome;
using validate::Subject;

/// A folder for what cases write, removed with all that is in it.
class ScratchFolder {
 public:
  /// Of a rank in the folder of its case, which goes even where the rank is killed.
  static Result<ScratchFolder> make(bool is_rank) {
    std::error_code code;
    const auto parent = is_rank ? std::filesystem::current_path(code) : std::filesystem::temp_directory_path(code);
    std::string name = (parent / "baleen-validate-XXXXXX").string();
    if (code || !::mkdtemp(name.data())) return Error{BALEEN_IO, "cannot make a folder for what the cases write", name};
    return ScratchFolder(name);
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  /// For a case of its own.
  std::filesystem::path below(const std::string& name) const {
    std::filesystem::create_directory(path_ / name);
    return path_ / name;
  }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

Result<UserValues> read_sets(const Descriptor& descriptor, const std::vector<std::string>& sets,
                             const std::filesystem::path& scratch) {
  UserValues values;
  for (const std::string& set : sets) {
    const std::string where = "--set " + set, name = set.substr(0, set.find('='));
    if (name.size() == set.size()) return invalid("must be OPTION=VALUE", where);
    const Option* const option = descriptor.find(name);
    if (!option) return invalid(unknown_word("option", name, descriptor.option_names()), where);
    BALEEN_TRY_ASSIGN(UserValue value, parse_option_text(*option, set.substr(name.size() + 1), where));
    const auto [at, is_new] = values.try_emplace(name, value);
    auto* const list = std::get_if<std::vector<std::string>>(&at->second.data);
    const auto* const more = std::get_if<std::vector<std::string>>(&value.data);
    if (!is_new && !(option->many() && list && more)) return invalid("`" + name + "` is set twice", where);
    if (!is_new) list->insert(list->end(), more->begin(), more->end());
  }
  const Option* const file = descriptor.kind == "monitor" ? validate::file_option(descriptor, values) : nullptr;
  if (file) values.try_emplace(file->name, UserValue{(scratch / "monitored").string(), validate::kOwnValue});
  SettingsStorage::Context context;
  context.where = "--set";
  BALEEN_TRY(SettingsStorage::build(descriptor, values, context));
  return values;
}

Status keep_only(std::vector<Case>& cases, const std::vector<std::string>& only) {
  std::vector<std::string> known;
  for (const Case& one : cases) known.push_back(one.name);
  for (const std::string& name : only)
    if (std::ranges::count(known, name) == 0) return invalid(unknown_word("case", name, known), "--only");
  if (!only.empty()) std::erase_if(cases, [&](const Case& one) { return std::ranges::count(only, one.name) == 0; });
  return {};
}

const char* word_of(Outcome::State state) {
  switch (state) {
    case Outcome::State::passed: return "passed";
    case Outcome::State::failed: return "failed";
    case Outcome::State::skipped: return "skipped";
  }
  return "";
}

/// Control characters of a plugin's text command no terminal.
std::string harmless(std::string text) {
  for (char& letter : text)
    if ((letter >= 0 && letter < ' ' && letter != '\n') || letter == 127) letter = '?';
  return text;
}

void print_case(const Case& one, const Outcome& outcome) {
  print_out("%-8s %s\n", word_of(outcome.state), one.name.c_str());
  if (outcome.state == Outcome::State::passed) return;
  print_out("         %s\n", harmless(outcome.reason).c_str());
  if (outcome.state == Outcome::State::failed && !outcome.output.empty())
    print_out("         it wrote:\n%s\n", harmless(outcome.output).c_str());
}

Json json_case(const Case& one, const Outcome& outcome) {
  return {{"name", one.name},         {"what", one.what},         {"result", word_of(outcome.state)},
          {"reason", outcome.reason}, {"output", outcome.output}, {"seconds", json_number(outcome.seconds)}};
}

/// In the case's own folder, so that what a plugin leaves where it stands goes with it.
Outcome run_case(const Case& one, const Subject& subject, std::chrono::milliseconds limit) {
  return validate::run_apart(
      [&](validate::Mark& mark) {
        std::filesystem::current_path(subject.scratch);
        one.body(subject, mark);
      },
      limit);
}

Outcome without_member() {
  Outcome outcome;
  outcome.state = Outcome::State::skipped;
  outcome.reason = std::string("nothing can be made; see ") + validate::kCreateCase;
  return outcome;
}

struct Tally {
  std::size_t of[3] = {};
  std::size_t& operator[](Outcome::State state) { return of[static_cast<std::size_t>(state)]; }
};

void print_end(const Subject& subject, Tally& tally, const Json& list, bool is_json) {
  const std::size_t failed = tally[Outcome::State::failed];
  if (is_json) {
    const Json all = {{"file", subject.descriptor.file.string()},
                      {"kind", subject.descriptor.kind},
                      {"name", subject.descriptor.name},
                      {"passed", tally[Outcome::State::passed]},
                      {"failed", failed},
                      {"skipped", tally[Outcome::State::skipped]},
                      {"cases", list}};
    print_out("%s\n", json_text(all).c_str());
  } else {
    print_out("%s: %zu passed, %zu failed, %zu skipped\n", title_of(subject.descriptor).c_str(),
              tally[Outcome::State::passed], failed, tally[Outcome::State::skipped]);
  }
}

Result<int> run_suites(const ValidateOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(Descriptor descriptor, read_descriptor(std::filesystem::absolute(options.file)));
  std::optional<validate::HeldSignals> held;  // until the folder is removed
  if (options.launch_rank.empty()) held.emplace();
  BALEEN_TRY_ASSIGN(const ScratchFolder scratch, ScratchFolder::make(!options.launch_rank.empty()));
  BALEEN_TRY_ASSIGN(UserValues values, read_sets(descriptor, options.sets, scratch.path()));
  Subject subject{&setup.registry,
                  std::move(descriptor),
                  std::move(values),
                  options.sets,
                  options.launch_folder.empty() ? std::filesystem::current_path().string() : options.launch_folder,
                  lua_library().parent_path() / "validate",
                  scratch.path()};
  if (!options.launch_rank.empty())
    return validate::be_launched_rank(subject, options.launch_rank, options.launch_word);
  std::vector<Case> cases = validate::cases_of(subject);
  BALEEN_TRY(keep_only(cases, options.only));
  const std::chrono::milliseconds limit(static_cast<std::int64_t>(options.limit * 1000));
  Tally tally;
  Json list = Json::array();
  bool has_member = true;
  for (const Case& one : cases) {
    subject.scratch = scratch.below(one.name);
    const Outcome outcome = one.needs_member && !has_member ? without_member() : run_case(one, subject, limit);
    if (validate::HeldSignals::has_come()) {  // it ends this process
      flush_printed();
      return kCaseFailed;
    }
    if (one.name == validate::kCreateCase) has_member = outcome.state != Outcome::State::failed;
    ++tally[outcome.state];
    if (options.json)
      list.push_back(json_case(one, outcome));
    else
      print_case(one, outcome);
  }
  print_end(subject, tally, list, options.json);
  return tally[Outcome::State::failed] == 0 ? kSuccess : kCaseFailed;
}

}  // namespace

int validate_command(const ValidateOptions& options, const Setup& setup) {
  const Result<int> code = run_suites(options, setup);
  return code ? *code : report(setup.log, code.error());
}

}  // namespace baleen::app

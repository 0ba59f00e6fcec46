/// \file The program `baleen`: finds plugins, reads the command line, runs one command. The last guard for exceptions.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "baleen/caught.hpp"
#include "core/plugin/crash.hpp"
#include "frontend/cli/command_line.hpp"
#include "frontend/cli/commands.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/engine/join.hpp"
#include "frontend/validate/launched_rank.hpp"

namespace baleen::app {
namespace {

int perform(const Command& command, const Setup& setup) {
  return std::visit(
      [&](const auto& options) {
        using Options = std::decay_t<decltype(options)>;
        if constexpr (std::is_same_v<Options, RunOptions>) return run_command(options, setup);
        if constexpr (std::is_same_v<Options, VerifyOptions>) return verify_command(options, setup);
        if constexpr (std::is_same_v<Options, InferOptions>) return infer_command(options, setup);
        if constexpr (std::is_same_v<Options, EvaluateOptions>) return evaluate_command(options, setup);
        if constexpr (std::is_same_v<Options, PredictOptions>) return predict_command(options, setup);
        if constexpr (std::is_same_v<Options, GenerateOptions>) return generate_command(options, setup);
        if constexpr (std::is_same_v<Options, GraphOptions>) return graph_command(options, setup);
        if constexpr (std::is_same_v<Options, PlanOptions>) return plan_command(options, setup);
        if constexpr (std::is_same_v<Options, BenchOptions>) return bench_command(options, setup);
        if constexpr (std::is_same_v<Options, PluginsOptions>) return plugins_command(options, setup);
        if constexpr (std::is_same_v<Options, ValidateOptions>) return validate_command(options, setup);
        if constexpr (std::is_same_v<Options, NewOptions>) return new_command(options, setup);
        if constexpr (std::is_same_v<Options, CheckpointOptions>) return checkpoint_command(options, setup);
        if constexpr (std::is_same_v<Options, TokenizerOptions>) return tokenizer_command(options, setup);
        if constexpr (std::is_same_v<Options, SecretOptions>) return secret_command(options, setup);
        return doctor_command(setup);
      },
      command);
}

/// How a command was told of hosts that a person starts; null where it has no ranks.
const HostOptions* host_options(const Command& command) {
  return std::visit(
      [](const auto& options) -> const HostOptions* {
        if constexpr (requires { options.kHasRanks; })
          return &options.host;
        else
          return nullptr;
      },
      command);
}

Status join(Setup& setup, const Command& command, const std::optional<std::string>& rank_word, LaunchedAs& as) {
  if (const HostOptions* const options = host_options(command)) return join_job(setup, *options, rank_word, as);
  return rank_word ? no_rank_word(*rank_word) : Status();
}

/// Takes out what earlier versions had and what is always done now, up to the script's own words.
void take_earlier_words(std::vector<std::string>& words, const Log& log) {
  const auto word = std::find(words.begin(), std::find(words.begin(), words.end(), "--"), "--checked");
  if (word == words.end() || *word != "--checked") return;
  log.warning("`--checked` is no option any more: ranks always compare the order of their collectives");
  words.erase(word);
}

/// A launcher that `validate` tests puts its word before the command, which is to be first.
void move_launch_word(std::vector<std::string>& words) {
  if (!words.empty() && words.front().starts_with(std::string(validate::kLaunchWord) + "="))
    std::rotate(words.begin(), words.begin() + 1, words.end());
}

/// `rank_word`: as take_rank_word gives it. What this process is in its job goes to `as`.
int run(const std::string& program, const std::vector<std::string>& words, const std::optional<std::string>& rank_word,
        const Log& log, LaunchedAs& as) {
  const EarlyOptions early = parse_early(words);
  log.set_level(early.level);
  std::vector<std::string> all = {program};
  all.insert(all.end(), words.begin(), words.end());
  Result<Setup> setup = set_up({early.plugin_paths, "--plugin-path", early.manifest, early.sets}, log, std::move(all));
  const Result<Command> command =
      parse_command_line(words, setup ? setup->registry.descriptors() : std::vector<Descriptor>());
  // Help is shown whatever else is wrong; then the setup's error comes first, since flags depend on it.
  if (const auto* text = command ? std::get_if<TextOnly>(&*command) : nullptr) {
    const Status printed = print_output(text->text);
    return printed ? kSuccess : report(log, printed.error());
  }
  if (!setup) return report(log, setup.error());
  if (!command) return report(log, command.error());
  if (const Status joined = join(*setup, *command, rank_word, as); !joined)
    return report(log, joined.error(), as.link.get());
  setup->stuck = [&](const Error& why) { std::_Exit(report(log, why, setup->link)); };
  return perform(*command, *setup);
}

/// What `end_uncaught` needs: whose words they are, and room for them where memory is short.
struct LastWords {
  const Log* log = nullptr;
  const LaunchedAs* as = nullptr;
  std::unique_ptr<char[]> room;
  std::terminate_handler crash = nullptr;
};
LastWords& last_words() {
  static LastWords words;
  return words;
}

/// Of a thread that nobody guards: memory that runs out there is no bug. What else it throws is a crash.
[[noreturn]] void end_uncaught() {
  static std::atomic_flag is_ending;
  if (!std::current_exception()) last_words().crash();
  if (is_ending.test_and_set()) {  // another thread found no memory either, or the words did not
    ::sleep(1);
    std::_Exit(kDoesNotFit);
  }
  ::alarm(2);  // whatever this thread had locked
  int code = kDoesNotFit;
  last_words().room.reset();
  try {
    const Error error = sdk::caught_error();
    if (error.code != BALEEN_NO_MEMORY) last_words().crash();
    code = report(*last_words().log, error, last_words().as->link.get());
  } catch (...) {  // the code tells
  }
  std::_Exit(code);
}

void guard_threads(const Log& log, const LaunchedAs& as) {
  constexpr std::size_t kRoom = std::size_t{64} << 10;
  last_words() = {&log, &as, std::make_unique<char[]>(kRoom), std::set_terminate(&end_uncaught)};
}

/// All that the program does.
int run_program(int argc, char** argv) {
  const Log log = Log::to_stderr();
  LaunchedAs as;
  report_crashes();
  refuse_exit();
  guard_threads(log, as);
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit (`ulimit -f`) is a failed write, which is told as one
  open_standard_files();
  try {
    std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    const std::optional<std::string> rank_word = take_rank_word(words);
    take_earlier_words(words, log);
    move_launch_word(words);
    // Rank 0 shares its terminal with the launcher: a coloured line must not be written in parts.
    if (rank_word) std::setvbuf(stderr, nullptr, _IOLBF, BUFSIZ);
    const int code = run(argc > 0 ? argv[0] : "baleen", words, rank_word, log, as);
    // A rank's output has ended in conclude, before its launcher heard that it is done.
    return as.link ? code : end_output(log, code);
  } catch (...) {
    Error error = sdk::caught_error();
    if (error.code == BALEEN_INTERNAL) error.message = "unexpected exception: " + error.message;
    return report(log, error, as.link.get());
  }
}

}  // namespace
}  // namespace baleen::app

int main(int argc, char** argv) {
  const int code = baleen::app::run_program(argc, argv);
  baleen::allow_exit();
  return code;
}

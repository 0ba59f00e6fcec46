/// \file The subcommands and their options in CLI11.
#include "frontend/cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "core/input/nearest.hpp"
#include "core/plugin/kinds.hpp"
#include "frontend/cli/bench_words.hpp"
#include "frontend/cli/checkpoint_words.hpp"
#include "frontend/cli/help_format.hpp"
#include "frontend/cli/load_words.hpp"
#include "frontend/cli/option_checks.hpp"
#include "frontend/cli/plugin_flag_words.hpp"
#include "frontend/cli/plugin_words.hpp"
#include "frontend/cli/tokenizer_words.hpp"
#include "frontend/cli/trained_words.hpp"

namespace baleen::app {
namespace {

constexpr const char* kEnd = "--";
constexpr const char* kFooter =
    "Exit codes: 0 success, 1 `validate`: a case failed, 2 bad input, 3 the plan does not fit into memory, 4 a peer "
    "was lost, 5 ended by a signal after what was trained was saved, 6 damaged: numbers are NaN or infinite, copies of "
    "them differ, or kept bytes have changed, 70 our own bug, 128 + N ended by signal N.";

/// CLI11 takes a vector from its back.
void parse_words(CLI::App& app, std::vector<std::string> words) {
  std::ranges::reverse(words);
  app.parse(std::move(words));
}

/// The options of EarlyOptions, as text. Both readings declare them here.
struct EarlyWords {
  std::vector<std::string> plugin_paths, sets;
  std::string manifest;
  std::string level = "info";

  void add_to(CLI::App& app) {
    add_plugins_to(app);
    app.add_option("-m,--manifest", manifest, "The cluster: hosts, mesh, plugins (TOML). Without one: one rank, here")
        ->type_name("FILE");
    app.add_option("--set", sets, "Override a key of the manifest, as in --set compute.threads=2; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
  }
  /// Of a command that has no manifest.
  void add_plugins_to(CLI::App& app) {
    app.add_option("--plugin-path", plugin_paths, "A folder of plugins, or one plugin's .so; may be repeated")
        ->type_name("PATH")
        ->allow_extra_args(false);
    app.add_option("--log-level", level, "What the log shows: debug, info, warning or error")
        ->type_name("LEVEL")
        ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  }
};

constexpr const char* kValidate = "validate";

/// One reading of the command line: owns what CLI11 writes into.
class Parser {
 public:
  explicit Parser(const std::vector<Descriptor>& plugins) : plugins_(plugins) {
    app_.formatter(std::make_shared<HelpFormat>());  // before subcommands, which take it over
    app_.require_subcommand(1);
    app_.allow_extras();  // so that `unknown` can name the nearest known word
    app_.footer(kFooter);
    app_.set_version_flag("-V,--version", std::string("baleen " BALEEN_VERSION));
    add_run();
    add_verify();
    add_infer();
    add_evaluate();
    add_predict();
    add_generate();
    add_graph();
    add_plan();
    add_bench();
    for (CLI::App* sub : {run_, verify_, infer_, evaluate_, predict_, generate_, graph_, plan_, bench_})
      flags_.add_to(*sub, sub == run_);  // last: our own words are taken by then
    add_plugins();
    add_validate();
    add_new();
    checkpoint_ = subcommand("checkpoint", "Look at a checkpoint, test it, or exchange models with other frameworks");
    add_checkpoint_words(*checkpoint_, checkpoint_options_);
    add_secret();
    tokenizer_ = subcommand("tokenizer", "Train a tokenizer, or see what one makes of a text");
    add_tokenizer_words(*tokenizer_, tokenizer_options_);
    doctor_ = subcommand("doctor",
                         "Look at this machine and this installation: what is there, what is missing, how to get it");
    help_ = app_.add_subcommand("help", "Tell of a command and its options, as COMMAND --help does");
    help_->allow_extras();
    help_->add_option("COMMAND", help_about_, "Which one; none: all of them in a line each")->type_name("");
  }

  Result<Command> parse(const std::vector<std::string>& all) {
    const auto end = std::ranges::find(all, kEnd);
    if (end != all.end()) script_args_.assign(end + 1, all.end());
    has_end_ = end != all.end();
    try {
      parse_words(app_, {all.begin(), end});
    } catch (const CLI::CallForVersion& version) {
      return Command(TextOnly{std::string(version.what()) + "\n"});
    } catch (const CLI::CallForHelp&) {
      return Command(TextOnly{help()});
    } catch (const CLI::CallForAllHelp&) {
      return Command(TextOnly{help()});
    } catch (const CLI::ParseError& error) {
      BALEEN_TRY(refuse_unknown());
      BALEEN_TRY(refuse_empty_words({all.begin(), end}));
      return invalid(error.what() + see_help());
    }
    BALEEN_TRY(refuse_unknown());
    BALEEN_TRY(refuse_empty_words({all.begin(), end}));
    return command();
  }

 private:
  CLI::App* subcommand(const std::string& word, const std::string& summary) {
    CLI::App* sub = app_.add_subcommand(word, summary);
    sub->allow_extras();
    early_.add_to(*sub);
    return sub;
  }

  void add_script(CLI::App& sub, ScriptOptions& out) {
    sub.add_option("SCRIPT", out.script, "A Lua file that returns a job")->required()->type_name("");
    sub.add_option("--seed", seed_, "Seed of everything random; stands above the script's")
        ->type_name("N")
        ->check(seed_check());
    sub.add_option("--dtype", dtype_, "Precision of the computation: fp32 or fp64; stands above the script's")
        ->type_name("DTYPE")
        ->check(CLI::IsMember({"fp32", "fp64"}));
    sub.footer(std::string("Words after `--` are the script's own: baleen.arg(\"NAME\") reads `-- --NAME VALUE`.\n\n") +
               kFooter);
  }

  void add_host(CLI::App& sub, HostOptions& out) {
    sub.add_option("--host-index", host_index_,
                   "Which of the manifest's hosts this is, where you start each one yourself; 0 is the first")
        ->type_name("I")
        ->check(count_check(0));
    sub.add_option("--secret-file", out.secret_file,
                   "With --host-index: what the job's hosts share, the same on each; `baleen secret FILE` makes one")
        ->type_name("FILE");
  }

  /// Of commands that use a trained model.
  void add_parameters(CLI::App& sub, ScriptOptions& out) {
    add_load_words(sub, out, renames_,
                   "The parameters: what `baleen run --save` wrote, a checkpoint's folder, or one of another framework")
        ->required();
    add_allow_missing(sub, out, false);
  }

  static void add_passes(CLI::App& sub, PassView& out) {
    CLI::Option* print = sub.add_flag("--print-passes", out.prints, "Print the graph after each pass that changed it");
    sub.add_option("--pass", out.passes,
                   "With --print-passes: only after these, as in propagate; * is any text; may be repeated")
        ->type_name("PASS")
        ->allow_extra_args(false)
        ->needs(print);
    sub.add_option("--op", out.ops,
                   "With --print-passes: only ops of this name or kind, as in blocks.0.* or matmul; may be repeated")
        ->type_name("OP")
        ->allow_extra_args(false)
        ->needs(print);
    sub.add_flag("--changes", out.changes,
                 "With --print-passes: only what the pass changed, as lines that go (-) and come (+)")
        ->needs(print);
  }

  /// The log is not all that a run shows: there are monitors for people, which are on unless it is said.
  void say_how_to_silence(CLI::Option& level) const {
    for (const Descriptor& plugin : plugins_)
      if (plugin.kind == "monitor" && plugin.score >= 0)
        level.description(level.get_description() + "; the run's own lines are left out by --set monitors." +
                          plugin.name + "=false");
  }

  void add_run() {
    run_ = subcommand("run", "Train: run a script's job");
    say_how_to_silence(*run_->get_option("--log-level"));
    add_script(*run_, run_options_);
    add_host(*run_, run_options_.host);
    run_->add_option("--steps", steps_, "Number of steps, 0 to leave all as it starts; stands above the script's")
        ->type_name("N")
        ->check(count_check(0));
    run_->add_option("--save", run_options_.save, "Write all parameters to this file at the end")->type_name("FILE");
    auto* load = add_load_words(*run_, run_options_, renames_,
                                "Read all parameters at the start from this file, this checkpoint's folder, or a "
                                "folder of Hugging Face's transformers");
    run_->add_option("--resume", run_options_.resume,
                     "Go on from a checkpoint: `latest` (which needs not be said), `auto` (the latest, or from the "
                     "start where there is none), `best`, or its folder")
        ->type_name("WHERE")
        ->expected(0, 1)
        ->default_str("latest")
        ->excludes(load);
    add_allow_missing(*run_, run_options_, true);
    add_passes(*run_, run_options_.passes);
  }

  void add_verify() {
    verify_ = subcommand("verify", "Check that the manifest's ranks compute what one rank computes");
    add_script(*verify_, verify_options_);
    add_host(*verify_, verify_options_.host);
    verify_->add_option("--steps", steps_, "Number of steps to compare [20]")->type_name("N")->check(count_check(1));
  }

  void add_infer() {
    infer_ = subcommand("infer", "Run one of a job's named programs with trained parameters");
    add_script(*infer_, infer_options_);
    add_host(*infer_, infer_options_.host);
    add_parameters(*infer_, infer_options_);
    add_infer_words(*infer_, infer_options_);
  }

  void add_evaluate() {
    evaluate_ = subcommand("evaluate", "The held-out loss and metrics of a trained model, without training");
    add_script(*evaluate_, evaluate_options_);
    add_host(*evaluate_, evaluate_options_.host);
    add_parameters(*evaluate_, evaluate_options_);
    add_evaluate_words(*evaluate_, evaluate_options_, batches_);
  }

  void add_predict() {
    predict_ = subcommand("predict", "What a trained model says of the rows of a file, as CSV or JSON lines");
    add_script(*predict_, predict_options_);
    add_host(*predict_, predict_options_.host);
    add_parameters(*predict_, predict_options_);
    add_predict_words(*predict_, predict_options_);
  }

  void add_generate() {
    generate_ = subcommand("generate", "Let a trained language model write");
    add_script(*generate_, generate_options_);
    add_parameters(*generate_, generate_options_);
    add_generate_words(*generate_, generate_options_);
  }

  void add_graph() {
    graph_ =
        subcommand("graph", "Print a script's layers with their shapes, parameters, FLOPs and memory; or every op");
    add_script(*graph_, graph_options_);
    graph_->add_option("--graph", graph_options_.graph, "Which graph: train, evaluate, generate or a program's name")
        ->type_name("NAME")
        ->capture_default_str();
    CLI::Option* const ops = graph_->add_flag("--ops", graph_options_.ops, "A line for each op, instead of each layer");
    graph_->add_flag("--dot", graph_options_.dot, "Draw it: print it in Graphviz's language")->excludes(ops);
    add_passes(*graph_, graph_options_.passes);
  }

  void add_plan() {
    plan_ = subcommand("plan",
                       "Count what each rank of the manifest will hold and send, and whether it fits; runs nothing");
    add_script(*plan_, plan_options_);
    plan_
        ->add_option("MANIFESTS", plan_manifests_,
                     "Clusters to compare in one table, as in a.toml b.toml; with --manifest there is one, in detail")
        ->type_name("");
    plan_->add_flag("--exact", plan_options_.exact,
                    "Also tell ranks apart by their roles in calls, on which the padding may depend; slower");
    plan_
        ->add_option("--measure-offload", plan_options_.measure_seconds,
                     "Measure for so many seconds (0.05 to 60) how fast the offload backend is on this machine, for a "
                     "bound of a step's time")
        ->type_name("SECONDS")
        ->check(range_check(0.05, 60));
    plan_->add_flag("--json", plan_options_.json, "For programs: everything, as one JSON object");
  }

  void add_bench() {
    bench_ = subcommand("bench", "Measure a part of what the manifest describes");
    add_bench_words(*bench_, bench_what_, bench_options_);
    add_host(*bench_, bench_options_.host);
  }

  void add_plugins() {
    list_ = subcommand("plugins", "List the plugins that are found");
    add_list_words(*list_, plugins_options_);
  }

  /// `--set` is about the plugin here: there is no manifest.
  void add_validate() {
    validate_ = app_.add_subcommand(kValidate, "Test a plugin: each case in a process of its own, with a time limit");
    validate_->allow_extras();
    early_.add_plugins_to(*validate_);
    add_validate_words(*validate_, validate_options_);
  }

  void add_new() {
    new_ = subcommand("new", "Write a new plugin: a folder with a source that works, its build, its test and a job");
    add_new_words(*new_, new_options_);
  }

  void add_secret() {
    secret_ = subcommand("secret", "Make a file with a new secret for the hosts of a job; only you can read it");
    secret_->add_option("FILE", secret_options_.file, "The file to make")->required()->type_name("");
  }

  const CLI::App* chosen() const {
    const auto subs = app_.get_subcommands();
    return subs.empty() ? nullptr : subs.front();
  }
  std::string name() const { return chosen() ? "baleen " + chosen()->get_name() : "baleen"; }
  std::string see_help() const { return " (see `" + name() + " --help`)"; }
  std::string help() const { return chosen() ? chosen()->help("baleen") : app_.help(); }

  /// What `baleen help COMMAND` writes.
  Result<Command> help_about() const {
    if (help_about_.empty())
      return Command(TextOnly{app_.get_formatter()->make_help(&app_, app_.get_name(), CLI::AppFormatMode::Normal)});
    std::vector<std::string> known;
    for (const CLI::App* sub : app_.get_subcommands([](const CLI::App*) { return true; })) {
      if (sub->get_name() == help_about_) return Command(TextOnly{sub->help("baleen")});
      known.push_back(sub->get_name());
    }
    return invalid(unknown_word("command", help_about_, known) + " (see `baleen --help`)");
  }

  Status refuse_unknown() const {
    const CLI::App* sub = chosen();
    std::vector<std::string> known;
    if (!sub) {
      for (const CLI::App* each : app_.get_subcommands([](const CLI::App*) { return true; }))
        known.push_back(each->get_name());
      const std::vector<std::string> left = app_.remaining();
      if (!left.empty()) return invalid(unknown_word("command", left.front(), known) + see_help());
      return {};
    }
    for (const CLI::Option* option : sub->get_options())
      for (const std::string& word : option->get_lnames()) known.push_back(kEnd + word);
    std::vector<std::string> left = sub->remaining();
    std::stable_partition(left.begin(), left.end(), [](const std::string& word) { return word.starts_with('-'); });
    if (left.empty()) return {};
    const std::string& first = left.front();
    const std::string word = first.substr(0, first.find('='));
    const bool takes_words = sub->get_option_no_throw("SCRIPT") != nullptr;
    if (!first.starts_with('-'))
      return invalid("unexpected `" + first + "`" + (takes_words ? "; a script's own words stand after `--`" : "") +
                     see_help());
    std::string hint;
    if (const auto near = nearest(word, known))
      hint = "; did you mean `" + *near + "`?";
    else if (takes_words)
      hint = "; if it is the script's, put it after `--`, as in `-- " + word + "`";
    return invalid("unknown option `" + word + "`" + hint + see_help());
  }

  Result<Command> command() {
    if (has_end_ && (chosen() == list_ || chosen() == bench_ || chosen() == doctor_ || chosen() == secret_ ||
                     chosen() == validate_ || chosen() == new_ || chosen() == checkpoint_ || chosen() == tokenizer_ ||
                     chosen() == help_))
      return invalid("`--` has no meaning for `" + name() + "`, which runs no script");
    if (chosen() == run_) return run_command();
    if (chosen() == verify_) {
      if (!verify_->get_option("--steps")->empty()) verify_options_.steps = steps_;
      verify_options_.dtype = "fp64";
      return with_script(verify_options_);
    }
    if (chosen() == infer_) return with_script(infer_options_);
    if (chosen() == evaluate_) {
      if (!evaluate_->get_option("--batches")->empty()) evaluate_options_.batches = batches_;
      return with_script(evaluate_options_);
    }
    if (chosen() == predict_) return with_script(predict_options_);
    if (chosen() == generate_) return with_script(generate_options_);
    if (chosen() == graph_) return with_script(graph_options_);
    if (chosen() == plan_) return plan_command();
    if (chosen() == bench_) return with_ranks(bench_options_);
    if (chosen() == list_) return Command(plugins_options_);
    if (chosen() == validate_) return Command(validate_options_);
    if (chosen() == new_) return Command(new_options_);
    if (chosen() == checkpoint_) {
      if (const Status status = check_checkpoint_words(*checkpoint_, checkpoint_options_); !status)
        return invalid(status.error().message + see_help());
      return Command(checkpoint_options_);
    }
    if (chosen() == secret_) return Command(secret_options_);
    if (chosen() == tokenizer_) {
      if (const Status status = check_tokenizer_words(*tokenizer_, tokenizer_options_); !status)
        return invalid(status.error().message + see_help());
      return Command(tokenizer_options_);
    }
    if (chosen() == help_) return help_about();
    return Command(DoctorOptions{});
  }

  Result<Command> run_command() {
    if (!run_->get_option("--steps")->empty()) run_options_.steps = steps_;
    if (run_->get_option("--resume")->count() > 0 && run_options_.resume.empty()) run_options_.resume = "latest";
    if (!run_options_.parts.allow_missing.empty() && run_options_.resume.empty() && run_options_.load.empty())
      return invalid("--allow-missing goes with --resume or --load" + see_help());
    return with_script(run_options_);
  }

  Result<Command> plan_command() {
    if (!plan_manifests_.empty() && !early_.manifest.empty())
      return invalid("manifests to compare stand alone, without `--manifest`" + see_help());
    if (!plan_manifests_.empty() && plan_options_.measure_seconds)
      return invalid("`--measure-offload` measures for one manifest, which `--manifest` names" + see_help());
    plan_options_.manifests.assign(plan_manifests_.begin(), plan_manifests_.end());
    plan_options_.sources = {
        {early_.plugin_paths.begin(), early_.plugin_paths.end()}, "--plugin-path", {}, early_.sets};
    return with_script(plan_options_);
  }

  template <class Options>
  Result<Command> with_script(Options& options) {
    if (!chosen()->get_option("--seed")->empty()) options.seed = seed_;
    if (!dtype_.empty()) options.dtype = dtype_;
    options.script_args = script_args_;
    if (const Status taken = take_renames(renames_, options); !taken)
      return invalid(taken.error().message + see_help(), taken.error().where);
    return with_ranks(options);
  }

  template <class Options>
  Result<Command> with_ranks(Options& options) {
    const CLI::Option* index = chosen()->get_option_no_throw("--host-index");
    if (index && !index->empty()) options.host.index = host_index_;
    BALEEN_TRY_ASSIGN(options.flags, flags_.used());
    return Command(options);
  }

  const std::vector<Descriptor>& plugins_;
  CLI::App app_{
      "Baleen: trains large neural networks in parallel. Models are Lua scripts, clusters TOML, and all else is a "
      "plugin.",
      "baleen"};
  CLI::App *run_ = nullptr, *verify_ = nullptr, *infer_ = nullptr, *evaluate_ = nullptr, *predict_ = nullptr,
           *generate_ = nullptr, *graph_ = nullptr, *plan_ = nullptr, *bench_ = nullptr, *list_ = nullptr,
           *checkpoint_ = nullptr, *secret_ = nullptr, *tokenizer_ = nullptr, *validate_ = nullptr, *new_ = nullptr,
           *doctor_ = nullptr, *help_ = nullptr;
  EarlyWords early_;  // read by parse_early; declared again so that help shows them and their values are checked
  RunOptions run_options_;
  VerifyOptions verify_options_;
  InferOptions infer_options_;
  EvaluateOptions evaluate_options_;
  PredictOptions predict_options_;
  GenerateOptions generate_options_;
  GraphOptions graph_options_;
  PlanOptions plan_options_;
  BenchOptions bench_options_;
  PluginsOptions plugins_options_;
  ValidateOptions validate_options_;
  NewOptions new_options_;
  CheckpointOptions checkpoint_options_;
  SecretOptions secret_options_;
  TokenizerOptions tokenizer_options_;
  std::uint64_t seed_ = 0;
  std::int64_t steps_ = 0, host_index_ = 0, batches_ = 0;
  std::string dtype_, bench_what_, help_about_;
  std::vector<std::string> script_args_, plan_manifests_, renames_;
  bool has_end_ = false;
  PluginFlagWords flags_{plugins_};
};

}  // namespace

EarlyOptions parse_early(const std::vector<std::string>& words) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  EarlyWords found;
  if (!words.empty() && words.front() == kValidate)
    found.add_plugins_to(app);
  else
    found.add_to(app);
  try {
    parse_words(app, {words.begin(), std::ranges::find(words, kEnd)});
  } catch (const CLI::ParseError&) {
    // The full reading meets the same mistake and says what it is.
  }
  EarlyOptions out{{}, found.manifest, found.sets, level_from(found.level).value_or(BALEEN_INFO)};
  for (const std::string& path : found.plugin_paths) out.plugin_paths.emplace_back(path);
  return out;
}

Result<Command> parse_command_line(const std::vector<std::string>& words, const std::vector<Descriptor>& plugins) {
  return Parser(plugins).parse(words);
}

std::string_view command_line_library() { return "CLI11 " CLI11_VERSION; }

}  // namespace baleen::app

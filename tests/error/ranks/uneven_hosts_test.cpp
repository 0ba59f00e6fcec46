/// \file Two hosts, started by hand, whose copies of a job differ in one thing: refused before the first step, named.
#include <fstream>
#include <memory>

#include "ranks_run.hpp"
#include "support/free_port.hpp"
#include "support/running_job.hpp"

namespace baleen::test {
namespace {

constexpr const char* kProgram =
    "  programs = { out = { inputs = { x = { dtype = 'fp32', shape = { 1, 2 } } },\n"
    "    run = function(t) return { y = t.x } end } }\n";
constexpr const char* kText = "the quick brown fox jumps over the lazy dog. ";

/// What the second host has otherwise than the first.
struct Unlike {
  std::string name, from, to;  ///< of the script
  std::string expected;        ///< in the message
  std::string file = {};       ///< that is written there: "text.txt", "start.safetensors" of another training
  bool loads[2] = {false, false};
  std::vector<std::string> words = {};  ///< of the second host's command
  std::string steps = "8";
  const char* commands[2] = {"run", "run"};
  std::vector<std::string> both = {};  ///< words of both hosts' commands
  std::string newer = {};              ///< a plugin of which the second host has another version
  std::string more = {};               ///< of both scripts, among the job's fields
  std::string data = {};               ///< of both scripts, in place of the text
  std::string script = "train.lua";    ///< how the second host's is called
  std::string rebuilt = {};            ///< a plugin of which the second host has another file, of the same version
  bool loads_folder = false;           ///< of checkpoints; else of a file
};
void PrintTo(const Unlike& unlike, std::ostream* out) { *out << unlike.name; }

class UnevenHosts : public testing::TestWithParam<Unlike> {
 protected:
  std::string script(int host) const {
    const bool is_text = !GetParam().data.starts_with("table");
    std::string text =
        "local baleen = require 'baleen'\nlocal nn = baleen.nn\n"
        "local text = baleen.data." +
        (GetParam().data.empty() ? "text { path = 'text.txt', context = 16, vocab = 256 }" : GetParam().data) +
        "\n"
        "local function rate(step) return step < 6 and 0.01 or 0.02 end\n"
        "return baleen.job { data = text, batch = 4, steps = " +
        GetParam().steps + ", clip_grad_norm = 1, gradient_accumulation_steps = 1,\n  model = " +
        (is_text ? "nn.sequential { nn.embedding { vocab = 256, dim = 12 }, nn.linear { out = 256 } },\n"
                   "  generate = { tokens = 4 },\n"
                 : "nn.sequential { nn.linear { out = text.classes } },\n") +
        "  loss = nn.cross_entropy {}, optimizer = baleen.optimizer('adamw', { lr = rate, beta2 = 0.99,\n"
        "    groups = { { match = '*.bias', weight_decay = 0 } } }),\n"
        "  plan = { baleen.strategy('data', { bucket_mb = 1 }) },\n" +
        (std::string(GetParam().commands[0]) == "infer" ? kProgram : "") + GetParam().more + "}\n";
    const Unlike& unlike = GetParam();
    if (host == 0 || unlike.from.empty()) return text;
    const std::size_t at = text.find(unlike.from);
    EXPECT_NE(at, std::string::npos) << "the script has no " << unlike.from;
    return text.replace(at, unlike.from.size(), unlike.to);
  }
  static std::string place(int host, const std::string& file) { return (host == 0 ? "a/" : "b/") + file; }
  void write(int host, const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(folder_ / (host == 0 ? "a" : "b"));
    folder_.write(place(host, file), text);
  }
  void prepare() const {
    std::string text;
    for (int i = 0; i < 40; ++i) text += kText;
    for (const int host : {0, 1}) {
      write(host, script_name(host), script(host));
      write(host, "text.txt", text);
    }
    if (GetParam().file == "text.txt") {
      text[text.size() / 3] = 'Q';
      write(1, "text.txt", text);
    }
    write_newer(GetParam().newer);
    write_rebuilt(GetParam().rebuilt);
    for (const int host : {0, 1})
      if (GetParam().loads[0]) save(host, host == 1 && !GetParam().file.empty() ? "8" : "7");
  }
  /// The plugin with the number of its version raised, wherever it stands.
  void write_newer(const std::string& plugin) const {
    if (plugin.empty()) return;
    std::ifstream file(build_dir() + "/lib/baleen/plugins/" + plugin + ".so", std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    int found = 0;
    for (const std::string version : {"1.0.0", "0.1.0"})
      for (std::size_t at = 0; (at = bytes.find(version, at)) != bytes.npos; ++found) bytes[at + 4] = '7';
    ASSERT_GT(found, 0) << plugin << " tells no version";
    std::filesystem::create_directories(folder_ / "b/plugins");
    write(1, "plugins/" + plugin + ".so", bytes);
  }
  /// The plugin with something behind its end that nobody reads.
  void write_rebuilt(const std::string& plugin) const {
    if (plugin.empty()) return;
    std::ifstream file(build_dir() + "/lib/baleen/plugins/" + plugin + ".so", std::ios::binary);
    std::filesystem::create_directories(folder_ / "b/plugins");
    write(1, "plugins/" + plugin + ".so", std::string(std::istreambuf_iterator<char>(file), {}) + "more");
  }
  void save(int host, const std::string& seed) const {
    std::vector<std::string> words{"run", folder_ / place(host, script_name(host)), "--seed", seed, "--steps", "1"};
    if (!GetParam().loads_folder)
      words.insert(words.end(), {"--save", folder_ / place(host, "start.safetensors")});
    else if (host == 0 || !GetParam().file.empty())
      words.insert(words.end(), {"--set", "checkpoint.every=1", "--set", "checkpoint.folder=" + folder_of(host)});
    else
      return copy_checkpoints();
    const ProcessResult saved = run_baleen(words);
    ASSERT_EQ(saved.exit_code, 0) << saved.err;
  }
  /// With what is not loaded: who writes there, what some program keeps beside.
  void copy_checkpoints() const {
    std::filesystem::copy(folder_of(0), folder_of(1), std::filesystem::copy_options::recursive);
    write(1, "start/.lock", "4711");
    std::filesystem::create_directories(folder_of(1) + "/.cache");
    write(1, "start/.cache/metadata", "fetched at noon");
    write(1, "start/notes.txt", "copied from a");
  }
  std::string folder_of(int host) const { return folder_ / place(host, "start"); }
  static std::string script_name(int host) { return host == 0 ? "train.lua" : GetParam().script; }
  std::unique_ptr<RunningJob> start(int host, const std::string& cluster, const std::string& secret) const {
    std::vector<std::string> words{build_dir() + "/bin/baleen",
                                   GetParam().commands[host],
                                   folder_ / place(host, script_name(host)),
                                   "--manifest",
                                   cluster,
                                   "--host-index",
                                   std::to_string(host),
                                   "--secret-file",
                                   secret};
    if (GetParam().loads[host])
      words.insert(words.end(),
                   {"--load", GetParam().loads_folder ? folder_of(host) : folder_ / place(host, "start.safetensors")});
    words.insert(words.end(), GetParam().both.begin(), GetParam().both.end());
    if (host == 1) words.insert(words.end(), GetParam().words.begin(), GetParam().words.end());
    if (host == 1 && !(GetParam().newer + GetParam().rebuilt).empty())
      words.insert(words.end(), {"--plugin-path", folder_ / "b/plugins"});
    for (std::string& word : words)
      if (word.starts_with("PLACE/")) word = folder_ / place(host, word.substr(6));
    return std::make_unique<RunningJob>(words);
  }

  const TemporaryFolder folder_;
};

TEST_P(UnevenHosts, AreNamedBeforeTheFirstStep) {
  prepare();
  const std::string cluster = folder_.write(
      "cluster.toml",
      "[cluster]\nport = " + std::to_string(free_port()) +
          "\nhosts = [{ name = 'a', ranks = 1, address = '127.0.0.1' }, { name = 'b', ranks = 1, address = "
          "'127.0.0.2' }]\n[mesh]\ndata = 2\n[transport]\nplugin = 'ucx'\ntls = ['tcp']\ndevices = ['lo']\n");
  const std::string secret = folder_ / "secret";
  ASSERT_EQ(run_baleen({"secret", secret}).exit_code, 0);
  const auto second = start(1, cluster, secret), first = start(0, cluster, secret);
  EXPECT_EQ(first->ends(), GetParam().expected.empty() ? 0 : 2) << first->out();
  EXPECT_EQ(second->ends(), GetParam().expected.empty() ? 0 : 2) << second->err();
  EXPECT_EQ(first->out().find("step 1/") == std::string::npos, !GetParam().expected.empty());
  EXPECT_NE(first->err().find(GetParam().expected), std::string::npos) << first->err();
  if (!GetParam().rebuilt.empty())
    EXPECT_NE(first->err().find("another build here (b) than on a: "), std::string::npos) << first->err();
  else
    EXPECT_EQ(first->err().find("another build"), std::string::npos) << first->err();
  if (GetParam().expected.empty()) return;
  EXPECT_NE(first->err().find("rank 1 on b: its job is not that of rank 0 on a: `"), std::string::npos) << first->err();
}

constexpr const char* kTable =
    "table { held_out = 0, rows = { { 1, 2 }, { 2, 1 }, { 3, 4 }, { 4, 3 }, { 5, 6 }, { 6, 5 } }, shuffle = true }";
constexpr const char* kBoundaries =
    "text { path = 'text.txt', context = 16, vocab = 256, separator = '.', mask_boundaries = true }";
constexpr const char* kCallback =
    "  on_step = function(info) local folder = '/of/a' if info.step > 3 then print(info.step) end end, -- of a\n";

const std::vector<Unlike> kUnlike{
    {"nothing", "", "", ""},
    {"paths_alone", "", "", "", "", {true, true}},
    {"learning_rate", "and 0.01", "and 0.03",
     "`lr` at step 0 is 0.03` here and `the optimizer: `lr` at step 0 is 0.01`"},
    {"late_schedule", "or 0.02", "or 0.05", "the optimizer: `lr` at step 6 is 0.05` here"},
    {"schedule_between",
     "or 0.02",
     "or (step > 1000 and step < 1010) and 0.05 or 0.02",
     "`the optimizer: `lr` at steps 1000 to 1124 has the digest ",
     "",
     {},
     {},
     "2000"},
    {"option", "0.99", "0.98", "the optimizer is adamw, beta2 = 0.98` here and"},
    {"optimizer", "'adamw', { lr = rate, beta2 = 0.99,", "'sgd', { lr = rate,", "the optimizer is sgd` here and"},
    {"group", "weight_decay = 0 }", "weight_decay = 0.5 }", "group 1 has the parameters `*.bias`, weight_decay = 0.5`"},
    {"frozen", "weight_decay = 0 }", "frozen = true }", "group 1 has the parameters `*.bias`, frozen`"},
    {"batch", "batch = 4", "batch = 8", "`batch = 8` here and `batch = 4` there"},
    {"steps", "steps = 8", "steps = 9", "`steps = 9` here and `steps = 8` there"},
    {"clip", "norm = 1", "norm = 2", "`clip_grad_norm = 2` here"},
    {"accumulation", "steps = 1,", "steps = 2,", "`gradient_accumulation_steps = 2` here"},
    {"width", "dim = 12", "dim = 16", " is fp32 [256, 16], normal"},
    {"initializer", "dim = 12", "dim = 12, init = baleen.init.normal(0.5)", " normal 0 0.5` here"},
    {"layer", "nn.linear { out", "nn.tanh {}, nn.linear { out", "train graph, op "},
    {"op", "nn.linear { out = 256 } }", "nn.linear { out = 256 }, nn.tanh {} }", "train graph, op "},
    {"strategy_option", "bucket_mb = 1", "bucket_mb = 2", "strategy data is data, bucket_mb = 2` here"},
    {"context", "context = 16", "context = 8", "train graph, op "},
    {"held_out", "vocab = 256 }", "vocab = 256, held_out = 0.3 }",
     "`the data is `text`, context = 16, held_out = 0.3, vocab = 256` here and "},
    {"shuffle", "vocab = 256 }", "vocab = 256, shuffle = false }",
     "`the data is `text`, context = 16, shuffle = false, vocab = 256` here and "},
    {"text", "", "", "the digest of the data's content is ", "text.txt"},
    {"loaded", "", "", "the digest of what is loaded is ", "start.safetensors", {true, true}},
    {"loaded_first_only", "", "", "`nothing is loaded` here and `the digest of what is loaded is ", "", {true, false}},
    {"saved_at_its_end",
     "",
     "",
     "`the run is saved at its end` here and `the run is not saved at its end` there",
     "",
     {},
     {"--save", "of-b.safetensors"}},
    {"resumed", "", "", "`the run is resumed` here and `the run begins at step 0` there", "", {}, {"--resume", "auto"}},
    {"checkpoints", "batch = 4", "batch = 4, checkpoint = { every = 3 }",
     "`the job has `checkpoint`` here and `the job has no `checkpoint`` there"},
    {"evaluations", "batch = 4", "batch = 4, evaluate = { every = 2 }",
     "`evaluate: every = 2` here and `evaluate: every = 0` there"},
    {"text_that_is_written", "tokens = 4", "tokens = 5",
     "`generate: tokens = 5` here and `generate: tokens = 4` there"},
    {"callback", "batch = 4", "batch = 4, on_step = function() end",
     "`the job has `on_step`` here and `the job has no `on_step`` there"},
    {"plugin",
     "",
     "",
     "optimizer `adamw` is of version 1.0.7` here and `optimizer `adamw` is of version 1.0.0` there",
     "",
     {},
     {},
     "8",
     {"run", "run"},
     {},
     "baleen_optimizer_adamw"},
    {"command",
     "",
     "",
     "`the command is `evaluate`` here and `the command is `run`` there",
     "",
     {true, true},
     {},
     "8",
     {"run", "evaluate"}},
    {"evaluated_batches",
     "",
     "",
     "`the command is `evaluate --batches 1`` here and `the command is `evaluate`` there",
     "",
     {true, true},
     {"--batches", "1"},
     "8",
     {"evaluate", "evaluate"}},
    {"evaluated_rows",
     "",
     "",
     "the digest of the data's content is ",
     "text.txt",
     {true, true},
     {},
     "8",
     {"evaluate", "evaluate"},
     {"--data", "PLACE/text.txt"}},
    {"predicted_rows",
     "",
     "",
     "the digest of the data's content is ",
     "text.txt",
     {true, true},
     {},
     "8",
     {"predict", "predict"},
     {"--data", "PLACE/text.txt", "--out", "PLACE/out.jsonl"}},
    {"inferred_inputs",
     "",
     "",
     "`the command is `infer --inputs of the digest ",
     "start.safetensors",
     {true, true},
     {},
     "8",
     {"infer", "infer"},
     {"--inputs", "PLACE/start.safetensors", "--outputs", "PLACE/out.safetensors"}},
    {"allowed_to_miss",
     "",
     "",
     "`what it may lack is `none.*`` here and `nothing of the kind` there",
     "",
     {true, true},
     {"--allow-missing", "none.*"}},
    {"loaded_parts",
     "",
     "",
     "`of what is loaded: --load-only *` here and `nothing of the kind` there",
     "",
     {true, true},
     {"--load-only", "*"}},
    {.name = "table_shuffle",
     .from = "shuffle = true",
     .to = "shuffle = false",
     .expected = ", shuffle = false` here and `the data is `table`, held_out = 0, rows = ",
     .data = kTable},
    {.name = "mask_boundaries",
     .from = "boundaries = true",
     .to = "boundaries = false",
     .expected = "`the data is `text`, context = 16, mask_boundaries = false, separator = ",
     .data = kBoundaries},
    {.name = "callbacks_text",
     .from = "step > 3",
     .to = "step > 4",
     .expected = "`the digest of the script's text is ",
     .more = kCallback},
    {.name = "paths_and_comments_of_a_callback",
     .from = "/of/a' if info.step > 3 then print(info.step) end end, -- of a",
     .to = "/of/another/b' if info.step > 3 then print(info.step) end end, -- it's of b",
     .expected = "",
     .more = kCallback},
    {.name = "the_scripts_name", .from = "", .to = "", .expected = "", .script = "trained.lua"},
    {.name = "plugin_of_ops",
     .from = "",
     .to = "",
     .expected = "op `standard` is of version 0.1.7` here and `op `standard` is of version 0.1.0` there",
     .newer = "baleen_op_standard"},
    {.name = "another_build", .from = "", .to = "", .expected = "", .rebuilt = "baleen_op_standard"},
    {.name = "loaded_checkpoint",
     .from = "",
     .to = "",
     .expected = "`of what is loaded, `index.baleen.json` has the digest ",
     .file = "another training",
     .loads = {true, true},
     .loads_folder = true},
    {.name = "copied_checkpoint", .from = "", .to = "", .expected = "", .loads = {true, true}, .loads_folder = true},
};
INSTANTIATE_TEST_SUITE_P(Jobs, UnevenHosts, testing::ValuesIn(kUnlike),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace baleen::test

/// \file `baleen validate`: the tree's plugins pass, and each planted defect is found by the case that is about it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "support/plugin_under_test.hpp"
#include "support/process.hpp"
#include "support/temporary_folder.hpp"
#include "verdict.hpp"

namespace baleen::test {
namespace {

/// A plugin of the tree, and options with which it works.
struct Member {
  std::string kind, name;
};

class TreeMember : public testing::TestWithParam<Member> {
 protected:
  std::vector<std::string> options() const {
    if (GetParam().name == "text") {
      std::string text;
      for (int i = 0; i < 900; ++i) text += "word" + std::to_string(i * i) + " ";
      return {"path=" + folder_.write("sample.txt", text), "context=16"};
    }
    if (GetParam().name == "table") {
      std::string csv = "size,colour,kind\n";
      for (int i = 0; i < 200; ++i)
        csv += std::to_string(i) + (i % 3 ? ",red" : ",blue") + (i % 2 ? ",odd\n" : ",even\n");
      return {"path=" + folder_.write("sample.csv", csv)};
    }
    if (GetParam().name == "hierarchy") return {"intra_host=shm", "inter_host=shm", "ranks_per_host=2"};
    if (GetParam().kind == "strategy" && GetParam().name == "zero") return {"stage=2"};
    if (GetParam().kind == "strategy" && GetParam().name == "recompute") return {"mode=full"};
    if (GetParam().kind == "strategy" && GetParam().name == "precision") return {"dtype=bf16"};
    if (GetParam().kind == "strategy" && GetParam().name == "compress") return {"method=bf16"};
    if (GetParam().name == "nvme") return {"path=" + folder_.path()};
    if (GetParam().name == "synthetic") return {"rows=200", "context=16", "vocab=1000"};
    return {};
  }
  TemporaryFolder folder_;
};

TEST_P(TreeMember, Passes) {
  const Verdict verdict = validate(built_plugin(GetParam().kind, GetParam().name), set_words(options()));
  EXPECT_EQ(verdict.process.exit_code, 0) << verdict.failed() << verdict.process.err;
  EXPECT_EQ(verdict.failed(), "");
  EXPECT_EQ(verdict.result("start.runs"), "passed");
  EXPECT_GE(verdict.cases.size(), 10u);
}

std::vector<Member> tree_members() {
  std::vector<Member> all;
  for (const char* kind :
       {"optimizer", "data", "monitor", "checkpoint", "transport", "strategy", "compute", "op", "offload", "launcher"})
    for (const std::string& name : built_members(kind)) all.push_back({kind, name});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, TreeMember, testing::ValuesIn(tree_members()),
                         [](const auto& info) { return info.param.kind + "_" + info.param.name; });

/// A mistake, the case that must find it, and what the reason must say.
struct Defect {
  std::string kind, word, found_by, reason;
};

class PlantedDefect : public testing::TestWithParam<Defect> {};

TEST_P(PlantedDefect, IsFoundByItsCase) {
  const Defect& defect = GetParam();
  // What ends by itself has the time that it takes on a busy machine.
  const std::string limit = defect.reason.find("hangs") == std::string::npos ? "30" : "1";
  const Verdict verdict = validate(std::string(PLANTED_FOLDER) + "/baleen_" + defect.kind + "_planted.so",
                                   {"--set", "defect=" + defect.word, "--limit", limit, "--only", defect.found_by});
  EXPECT_EQ(verdict.process.exit_code, kCaseFailed) << verdict.process.out << verdict.process.err;
  EXPECT_EQ(verdict.result(defect.found_by), "failed") << verdict.process.out << verdict.process.err;
  EXPECT_NE(verdict.reason(defect.found_by).find(defect.reason), std::string::npos) << verdict.reason(defect.found_by);
}

const Defect kDefects[] = {
    {"optimizer", "exits", "create.gives_an_object", "ends the process, with exit code 0, in `create`"},
    {"optimizer", "gives_nothing", "create.gives_an_object", "create gave no object and no error"},
    {"optimizer", "null_object", "create.gives_an_object", "returns OK and gives no object"},
    {"optimizer", "without_reason", "create.gives_an_object", "fails without a reason"},
    {"optimizer", "no_status", "create.gives_an_object", "returns 77, which is no status"},
    {"optimizer", "breaks_at_maximum", "options.power", "killed by SIGSEGV in `create` with power = 64"},
    {"optimizer", "hangs", "optimizer.fp32", "hangs: after 1 s it was still in `update`"},
    {"optimizer", "crashes", "optimizer.fp64", "killed by SIGSEGV in `update`"},
    {"optimizer", "throws", "optimizer.slices", "throws an exception out of `traits`: the traits are on fire"},
    {"optimizer", "whole_norm", "optimizer.slices", "alone become other numbers"},
    {"optimizer", "climbs", "optimizer.descends", "up the slope"},
    {"optimizer", "rests", "optimizer.descends", "changes no parameter"},
    {"optimizer", "decays_without_rate", "optimizer.no_rate", "at rate 0"},
    {"optimizer", "counts_itself", "optimizer.skipped_steps", "kept outside slots"},
    {"optimizer", "counts_for_all", "optimizer.repeats", "the same steps give other numbers"},
    {"optimizer", "mixes", "optimizer.parameters", "a second parameter"},
    {"optimizer", "still_slot", "optimizer.slots", "slot `still` never changes"},
    {"optimizer", "same_names", "optimizer.fp32", "two slots named `momentum`"},
    {"optimizer", "forgets_slot", "optimizer.fp32", "no new value for slot `momentum`"},
    {"optimizer", "another_shape", "optimizer.fp64", "another shape for the parameter"},
    {"optimizer", "infinite", "optimizer.fp64", "not finite after step 1"},
    {"optimizer", "divides_by_root", "optimizer.fp64", "a parameter is not finite after step 1, with gradients of 0"},
    {"optimizer", "divides_by_norm", "optimizer.fp32", ", with parameters that begin as 0"},
    {"optimizer", "divides_by_count", "optimizer.fp64", "a parameter is not finite after step 4"},
    {"optimizer", "no_slot", "options.momentum", "with momentum = 0: "},
    {"optimizer", "own_stride", "optimizer.later_host", "killed by SIGSEGV in `begin`"},
    {"optimizer", "writes_behind", "optimizer.later_host", "writes behind the struct"},
    {"optimizer", "swallows_refusals", "optimizer.refusals", "returns OK where the graph has refused op 0"},
    {"data", "many_fields", "data.info", "17 fields"},
    {"data", "wide_rank", "data.info", "rank 9"},
    {"data", "endless_name", "data.info", "its name does not end"},
    {"data", "fp64", "data.info", "dtype 2"},
    {"data", "same_names", "data.info", "two fields `number`"},
    {"data", "negative_rows", "data.info", "fewer than 0 rows"},
    {"data", "whole_info", "data.info_size", "writes behind them"},
    {"data", "one_too_many", "data.arrays", "field `feature`: it writes behind the array"},
    {"data", "one_before", "data.arrays", "field `number`: it writes before the array"},
    {"data", "half_rows", "data.whole_rows", "leaves a part of row 0"},
    {"data", "hangs_on_calls", "data.repeats", "read again"},
    {"data", "hangs_on_pieces", "data.pieces", "read in other pieces"},
    {"data", "draws_with_replacement", "data.epochs", "each epoch has each row once"},
    {"data", "shuffles_held_out", "data.held_out", "of the held-out part"},
    {"data", "narrow_positions", "data.far_ahead", "distinct rows"},
    {"data", "other_thread", "data.threads", "read by four threads at once"},
    {"data", "digest_of_seed", "data.digest", "hangs on the seed"},
    {"data", "knows_all", "data.query", "an extension that nobody knows"},
    {"data", "held_out_from_zero", "data.pieces", "of the held-out part is another one"},
    {"data", "held_out_unwritten", "data.whole_rows", "as it was, in the held-out part"},
    {"data", "held_out_rounds_up", "data.arrays", "field `feature`: it writes behind the array"},
    {"data", "held_out_by_seed", "data.held_out", "the order of the held-out part hangs on the seed"},
    {"data", "same_epochs", "data.orders", "the first four epochs of the train part have one order"},
    {"data", "same_seeds", "data.orders", "with seeds 1 and 2 the train part has one order"},
    {"data", "wide_labels", "data.values", "field `tokens` has ids outside 0 ... 15 in the train part"},
    {"data", "nan_features", "data.values", "field `feature` is nan in row "},
    {"data", "one_hot_overruns", "options.one_hot",
     "with one_hot = true: `read` of 7 train rows from 0, field `list_length`"},
    {"data", "encode_overruns", "data.tokens", "`encode` with room for 0 writes behind it"},
    {"data", "decode_aborts", "data.tokens", "killed by SIGABRT in `decode`"},
    {"data", "length_field_77", "data.ragged", "`length_field` of field `list` is 77; there are 5 fields"},
    {"data", "lengths_elsewhere", "data.ragged", "names field `feature`; lengths are I32 of no dimensions"},
    {"data", "long_lists", "data.ragged", "have the length 5 in row "},
    {"data", "dirty_tails", "data.ragged", "have something else than zeros behind their end"},
    {"data", "destroy_crashes", "create.gives_an_object", "killed by SIGABRT in `destroy`"},
    {"monitor", "expects_finite", "monitor.strange_facts", "`record` fails: "},
    {"monitor", "expects_names", "monitor.strange_facts", "killed by SIGSEGV in `record`"},
    {"monitor", "expects_spans", "monitor.strange_spans", "killed by SIGSEGV in `spans` of none"},
    {"monitor", "divides", "options.every", "killed by SIGFPE in `record`"},
    {"monitor", "silent_file", "monitor.no_folder", "returns OK where the file's folder is missing"},
    {"monitor", "hides_file", "monitor.no_folder", "does not name the file"},
    {"monitor", "silent_disk", "monitor.full_disk", "without a word"},
    {"monitor", "keeps_facts", "monitor.run", "killed by SIGSEGV in `record`"},
    {"monitor", "keeps_spans", "monitor.strange_spans", "killed by SIGSEGV in `spans`"},
    {"monitor", "leaves_process", "monitor.nothing", "leaves processes running: baleen "},
    {"transport", "another_order", "transport.order", "not the sum in the order that `deterministic` stands for"},
    {"transport", "forgets_a_member", "transport.all_reduce", "gives a wrong element 0"},
    {"transport", "one_too_many", "transport.broadcast", "memory beside a buffer has changed"},
    {"transport", "spoils_inputs", "transport.all_gather", "changes its input"},
    {"transport", "dies", "transport.permute", "rank 1 of 2: killed by SIGSEGV in `group_create`"},
    {"transport", "waits_for_ever", "transport.barrier", "hangs: after "},
    {"transport", "signals_nothing", "transport.reduce", "the wait for reduce of 0 fp32 among 1"},
    {"transport", "takes_anything", "transport.disagree", "returns OK where two members give other counts"},
    {"transport", "deaf", "transport.abort", "after `abort` its `check` returns 0"},
    {"transport", "first_tensor_alone", "transport.lists", "gives a wrong element 0"},
    {"transport", "adds_bits", "transport.all_reduce", " bf16 among 2 gives a wrong element 0"},
    {"transport", "clears_output", "transport.in_place", ", in place, gives a wrong element 0"},
    {"transport", "drops_nan", "transport.maximum_of_nan", "gives a wrong element 3"},
    {"transport", "dirty_memory", "transport.own_memory", "memory that is not zero"},
    {"strategy", "refuses", "strategy.is_of_use", "refuses every job and every number of ranks that was tried"},
    {"strategy", "crashes", "strategy.rows_on_2", "in strategy `planted`"},
    {"strategy", "throws", "strategy.tokens_on_2", "the place is on fire"},
    {"strategy", "hangs", "strategy.rows_on_2", "hangs: after "},
    {"strategy", "doubles", "strategy.rows_on_1", "computes something else than one rank alone"},
    {"strategy", "doubles", "strategy.tokens_on_4", "computes something else than one rank alone"},
    {"strategy", "doubles", "strategy.rows_accumulated", "computes something else than one rank alone"},
    {"strategy", "doubles", "strategy.rows_on_2", "see the gradient of `linear.weight` of step 1"},
    {"strategy", "draws", "strategy.repeats", "have other losses"},
    {"strategy", "doubles_in_mode", "options.mode.doubled", "computes something else than one rank"},
    {"strategy", "breaks_at_maximum", "options.width", "with width = 64: "},
    {"compute", "another", "compute.rows_in_fp32", "and on the processor "},
    {"compute", "another", "compute.tokens_in_fp64", "and on the processor "},
    {"compute", "draws", "compute.rows_repeats", "the same run has other losses"},
    {"compute", "dies", "compute.two_ranks", "a training ends with exit code"},
    {"transport", "off_page", "transport.own_memory", "does not begin a page"},
    {"offload", "hides_map", "offload.describe", "its flag MAPPED says something else"},
    {"offload", "counts_bytes", "offload.describe", "each is to be rounded up to the alignment"},
    {"offload", "whole_info", "offload.describe", "writes more than `info.size` says"},
    {"offload", "dirty", "offload.zeros", "does not read as zeros"},
    {"offload", "whole_pages", "offload.contents", "gives other bytes than were put"},
    {"offload", "no_offset", "offload.contents", "gives other bytes than were put"},
    {"offload", "one_too_many", "offload.contents", "writes beside the memory"},
    {"offload", "mixes_slots", "offload.many", "with 24 operations under way slot"},
    {"offload", "overtakes", "offload.order", "that was started just before it"},
    {"offload", "no_waiting", "offload.after", "does not wait until its `after`"},
    {"offload", "one_at_a_time", "offload.after", "hangs: after 1 s it was still in `put`"},
    {"offload", "another_value", "offload.events", "and not to its `done_value`, 3"},
    {"offload", "signals_nothing", "offload.events", "hangs: after 1 s it was still in the wait for slot 0"},
    {"offload", "silent", "offload.failures", "`check` returns OK though"},
    {"offload", "blames_all", "offload.failures", "tells of a failure of another slot"},
    {"offload", "takes_anything", "offload.refusals", "a slot that is not there returns 0 and not INVALID"},
    {"offload", "over_budget", "offload.budget", "its capacity is 2097152 where the budget is 1048576"},
    {"offload", "forgets_waiting", "offload.destroy", "does not fail an operation that waits"},
    {"offload", "leaks_descriptor", "offload.leaves_nothing", "8 open descriptors"},
    {"offload", "leaks_thread", "offload.leaves_nothing", "8 threads"},
    {"offload", "leaves_file", "offload.leaves_nothing", "there is left"},
    {"offload", "maps_copy", "offload.map", "what is put is not seen in the mapped slot"},
    {"offload", "keeps_pins", "offload.pinning", "memory is still pinned"},
    {"offload", "wipes", "offload.measure", "changes what a slot holds"},
    {"offload", "shares", "offload.two_stores", "a second store changes what the first one holds"},
    {"launcher", "gives_nothing", "launcher.create", "returns OK and gives no launcher"},
    {"launcher", "same_rank", "launcher.places", "two processes are told that they are rank 0"},
    {"launcher", "beyond", "launcher.places", "`place` says rank 4 of 4"},
    {"launcher", "other_threads", "launcher.places", "4 threads where `start` was told 3"},
    {"launcher", "always_fails", "launcher.places", "every rank has ended with `finish`, and `start` says"},
    {"launcher", "cuts_zeros", "launcher.keys", "`get` of `bytes` gives another value"},
    {"launcher", "takes_twice", "launcher.keys", "calls `take` 2 times"},
    {"launcher", "sets_twice", "launcher.keys", "`put` of a key that is set returns 0"},
    {"launcher", "gives_up", "launcher.threads", "nobody has set it"},
    {"launcher", "open_fence", "launcher.fences", "before every rank has come to it"},
    {"launcher", "fences_once", "launcher.fences", "before every rank has come to it"},
    {"launcher", "hides_loss", "launcher.lost", " and not PEER_LOST"},
    {"launcher", "hides_cause", "launcher.lost", "does not tell the first cause"},
    {"launcher", "tells_twice", "launcher.lost", "is called 2 times"},
    {"launcher", "deaf", "launcher.lost", "is not called within 1 s of a loss"},
    {"launcher", "all_is_well", "launcher.killed", "a rank was killed, and `start` says that the job ended well"},
    {"launcher", "all_is_well", "launcher.unfinished", "ended without `finish`, and `start` says"},
    {"launcher", "blames_nobody", "launcher.lost", "does not tell the first cause"},
    {"launcher", "leaks_descriptor", "launcher.leaves_nothing", "open descriptors"},
};

INSTANTIATE_TEST_SUITE_P(All, PlantedDefect, testing::ValuesIn(kDefects), [](const auto& info) {
  return info.param.kind + "_" + info.param.word + "_" + std::to_string(info.index);
});

/// A failure while operations are under way is told, and their memory outlives them.
TEST(Planted, AStoreThatFailsAmongManyOperationsIsNoCrash) {
  for (int turn = 0; turn < 15; ++turn) {
    const Verdict verdict = validate(std::string(PLANTED_FOLDER) + "/baleen_offload_planted.so",
                                     {"--set", "defect=another_value", "--only", "offload.many"});
    ASSERT_NE(verdict.reason("offload.many").find("and not to its `done_value`"), std::string::npos)
        << verdict.reason("offload.many");
  }
}

/// The same without a defect passes: what is found above is the defect.
TEST(Planted, PassesWithoutADefect) {
  for (const char* kind : {"optimizer", "data", "monitor", "transport", "strategy", "compute", "offload", "launcher"}) {
    const Verdict verdict = validate(std::string(PLANTED_FOLDER) + "/baleen_" + kind + "_planted.so", {});
    EXPECT_EQ(verdict.process.exit_code, 0) << kind << "\n" << verdict.failed();
  }
}

/// What a monitor may do: write at the end alone, read a file that an option names, make the folder of its file.
TEST(Planted, SoundMonitorsPass) {
  const TemporaryFolder folder;
  for (const std::string& set : {std::string("defect=writes_at_finish"), std::string("defect=makes_folder"),
                                 "config=" + folder.write("config", "quiet")}) {
    const Verdict verdict = validate(std::string(PLANTED_FOLDER) + "/baleen_monitor_planted.so", {"--set", set});
    EXPECT_EQ(verdict.process.exit_code, 0) << set << "\n" << verdict.failed();
    EXPECT_EQ(verdict.result("monitor.no_folder"), "passed") << set << "\n" << verdict.reason("monitor.no_folder");
    EXPECT_EQ(verdict.result("monitor.full_disk"), "passed") << set << "\n" << verdict.reason("monitor.full_disk");
  }
}

/// A file that the user has named is the one that is written; no case sets another.
TEST(Planted, AMonitorWritesTheFileThatTheUserHasNamed) {
  const TemporaryFolder folder;
  const Verdict verdict =
      validate(std::string(PLANTED_FOLDER) + "/baleen_monitor_planted.so", {"--set", "path=" + (folder / "mine")});
  EXPECT_EQ(verdict.process.exit_code, 0) << verdict.failed();
  EXPECT_EQ(verdict.result("monitor.run"), "passed");
  EXPECT_EQ(verdict.result("monitor.full_disk"), "skipped");
  EXPECT_TRUE(std::filesystem::exists(folder / "mine"));
}

/// Sound optimizers that do what others do not: states under names of their own, a slot that is renewed every ten
/// steps.
TEST(Planted, PassesWithUnusualOptimizers) {
  for (const std::string word : {"own_states", "renews_rarely"}) {
    const Verdict verdict = validate(std::string(PLANTED_FOLDER) + "/baleen_optimizer_planted.so",
                                     {"--set", "defect=" + word, "--limit", "30"});
    EXPECT_EQ(verdict.process.exit_code, 0) << word << "\n" << verdict.failed();
    EXPECT_EQ(verdict.result("optimizer.parameters"), "passed") << word << verdict.reason("optimizer.parameters");
    EXPECT_EQ(verdict.result("optimizer.slots"), "passed") << word << verdict.reason("optimizer.slots");
  }
}

/// What is wrong in the file or at its start, and formats, which have no options to make them wrong.
class WrongPlugin : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(WrongPlugin, IsFoundByItsCase) {
  const std::string &name = GetParam()[0], &found_by = GetParam()[1], &reason = GetParam()[2];
  std::string kind = found_by.substr(0, found_by.find('.'));
  if (kind != "checkpoint" && kind != "op") kind = "optimizer";
  const Verdict verdict = validate(std::string(PLANTED_FOLDER) + "/baleen_" + kind + "_" + name + ".so", {});
  EXPECT_EQ(verdict.process.exit_code, kCaseFailed);
  EXPECT_EQ(verdict.result(found_by), "failed") << verdict.process.out;
  EXPECT_NE(verdict.reason(found_by).find(reason), std::string::npos) << verdict.reason(found_by);
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongPlugin,
    testing::Values(
        std::vector<std::string>{"overruns", "start.smaller_host", "it wrote behind them"},
        std::vector<std::string>{"lies_about_size", "start.runs", "bytes; the kind's has"},
        std::vector<std::string>{"any_kind", "start.other_kind", "starts where the host means"},
        std::vector<std::string>{"lacks_function", "start.runs", "left the function `update` of its table empty"},
        std::vector<std::string>{"throws_at_start", "start.runs", "no start today"},
        std::vector<std::string>{"dies_at_end", "create.end_of_process", "killed by SIGSEGV in the end of the process"},
        std::vector<std::string>{"exports_more", "file.symbols", "`an_own_symbol`"},
        std::vector<std::string>{"imports_core", "file.imports", "register_builtin_ops"},
        std::vector<std::string>{"drops_bytes", "checkpoint.bits", "comes back with other bytes"},
        std::vector<std::string>{"loses_facts", "checkpoint.facts", "fact `baleen.step`"},
        std::vector<std::string>{"leaves_files", "checkpoint.replaces", "leaves files beside"},
        std::vector<std::string>{"hides_files", "checkpoint.missing", "does not name the file"},
        std::vector<std::string>{"takes_cut_files", "checkpoint.cut", "reads a file that was cut to 0 of"},
        std::vector<std::string>{"trusts_files", "checkpoint.damaged", "crashes: killed by"},
        std::vector<std::string>{"takes_twins", "checkpoint.names", "takes two tensors of one name"},
        std::vector<std::string>{"reads_beyond", "checkpoint.bits", "writes behind its bytes"},
        std::vector<std::string>{"joins_pieces", "checkpoint.pieces", "make another file"},
        std::vector<std::string>{"commits_early", "checkpoint.pieces_left", "a tensor that lacks a byte"},
        std::vector<std::string>{"writes_in_place", "checkpoint.full_disk", "spoils the file that was there"},
        std::vector<std::string>{"hides_full_disk", "checkpoint.full_disk", "returns OK where the disk is full"},
        std::vector<std::string>{"reads_in_turn", "checkpoint.order", "from the last one to the first"},
        std::vector<std::string>{"reads_a_part", "checkpoint.bits", "comes back with other bytes"},
        std::vector<std::string>{"reads_once", "checkpoint.order", "read a second time"},
        std::vector<std::string>{"narrow_extents", "checkpoint.bits", "another dtype or shape"},
        std::vector<std::string>{"knows_all", "checkpoint.query", "an extension that nobody knows"},
        std::vector<std::string>{"no_kinds", "op.kinds", "it has no kind"},
        std::vector<std::string>{"kinds_die", "op.kinds", "killed by SIGABRT in `kind`"}),
    [](const auto& info) { return info.param[0]; });

TEST(Planted, ADataSetThatNeedsItselfForAQueryIsFound) {
  const Verdict verdict =
      validate(std::string(PLANTED_FOLDER) + "/baleen_data_needs_dataset.so", {"--only", "data.plugin_query"});
  EXPECT_EQ(verdict.process.exit_code, kCaseFailed);
  EXPECT_NE(verdict.reason("data.plugin_query").find("killed by SIGSEGV in `query` of `"), std::string::npos)
      << verdict.reason("data.plugin_query");
}

/// The user has asked for the order of the source.
TEST(Validate, DoesNotBlameADataSetForTheOrderThatItIsToldToKeep) {
  const Verdict verdict =
      validate(built_plugin("data", "synthetic"), set_words({"rows=200", "context=16", "vocab=1000", "shuffle=false"}));
  EXPECT_EQ(verdict.failed(), "");
  EXPECT_EQ(verdict.result("data.orders"), "skipped");
}

TEST(Planted, AFormatWithoutADefectPasses) {
  const Verdict verdict = validate(std::string(PLANTED_FOLDER) + "/baleen_checkpoint_sound.so", {});
  EXPECT_EQ(verdict.process.exit_code, 0) << verdict.failed();
}

/// Of functions that are called without settings.
TEST(WrongLauncher, IsFoundByItsCase) {
  const Verdict verdict = validate(std::string(PLANTED_FOLDER) + "/baleen_launcher_wrong_alone.so",
                                   {"--only", "launcher.fits", "--only", "launcher.secret"});
  EXPECT_EQ(verdict.process.exit_code, kCaseFailed);
  EXPECT_NE(verdict.reason("launcher.fits").find("says this and then that"), std::string::npos);
  EXPECT_NE(verdict.reason("launcher.secret").find("writes over a file that is there"), std::string::npos);
}

TEST(Validate, LeavesNothingOfRanksThatAreKilled) {
  const TemporaryFolder folder;
  ProcessOptions options;
  options.environment = {"TMPDIR=" + folder.path()};
  const ProcessResult result =
      run_baleen({"validate", built_plugin("launcher", "local"), "--only", "launcher.killed"}, options);
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

/// Processes whose command line names such a folder.
std::size_t processes_about(const std::string& folder) {
  std::size_t count = 0;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", code)) {
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    const std::string words{std::istreambuf_iterator<char>(file), {}};
    if (words.find(folder) != std::string::npos) ++count;
  }
  return count;
}

template <class Condition>
bool comes_true(Condition&& condition) {
  for (int turn = 0; turn < 600 && !condition(); ++turn) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return condition();
}

/// In the middle of a case whose training does not end.
TEST(Validate, LeavesNothingWhereASignalEndsIt) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGKILL}) {
    const TemporaryFolder folder;
    const std::string plugin = std::string(PLANTED_FOLDER) + "/baleen_strategy_planted.so";
    const std::string program = build_dir() + "/bin/baleen", variable = "TMPDIR=" + folder.path();
    const pid_t process = ::fork();
    if (process == 0) {
      ::setpgid(0, 0);
      for (const int each : {SIGINT, SIGTERM, SIGHUP}) ::signal(each, SIG_DFL);
      ::putenv(const_cast<char*>(variable.c_str()));
      ::execl(program.c_str(), "baleen", "validate", plugin.c_str(), "--set", "defect=hangs", "--only",
              "strategy.rows_on_2", "--limit", "120", nullptr);
      ::_exit(127);
    }
    ::setpgid(process, process);
    ASSERT_TRUE(comes_true([&] { return processes_about(folder.path()) > 0; }));
    ::kill(-process, signal);
    int status = 0;
    ::waitpid(process, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << signal << ": " << status;
    EXPECT_TRUE(comes_true([&] { return processes_about(folder.path()) == 0; })) << signal;
    EXPECT_EQ(std::filesystem::is_empty(folder.path()), signal != SIGKILL) << signal;
  }
}

TEST(Validate, EndsWithASummary) {
  const ProcessResult result = run_baleen({"validate", built_plugin("optimizer", "sgd"), "--only", "start.runs"});
  EXPECT_EQ(result.out, "passed   start.runs\noptimizer `sgd`: 1 passed, 0 failed, 0 skipped\n") << result.err;
}

}  // namespace
}  // namespace baleen::test

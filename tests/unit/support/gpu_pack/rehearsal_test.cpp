/// \file Each part of scripts/gpu_check.sh runs out of a pack, in an empty folder, with the paths of a machine that has
/// a GPU and no more: the plugin cuda on the emulated libraries, tiny models, and stand-ins for PyTorch and NVIDIA's
/// programs (machine/) that refuse what they are not asked for there.
#include <ostream>
#include <regex>

#include "pack.hpp"

namespace baleen::test {
namespace {

namespace fs = std::filesystem;

/// What a machine has: the check's own programs, and what the emulated NVRTC's compiler calls.
const char* const kPrograms[] = {"awk",  "basename", "bash",  "cat",    "chmod",  "cmp",   "cp",      "cut",
                                 "date", "dirname",  "env",   "grep",   "gzip",   "head",  "kill",    "ldconfig",
                                 "ldd",  "ls",       "mkdir", "mktemp", "mv",     "nproc", "paste",   "rm",
                                 "sed",  "sh",       "sleep", "sort",   "tail",   "tar",   "timeout", "tr",
                                 "wc",   "as",       "ld",    "ld.lld", "ld.mold"};
const std::string kMachine = source_dir() + "/tests/unit/support/gpu_pack/machine";

struct Part {
  std::string name;
  std::vector<std::string> rows;  ///< of the table, as regular expressions
  std::vector<std::string> logs;
  std::vector<std::string> more = {};  ///< words of the command line

  friend void PrintTo(const Part& part, std::ostream* out) { *out << part.name; }
};

class Root : public GpuPack {
 protected:
  void SetUp() override {
    GpuPack::SetUp();
    fs::create_directories(folder_ / "bin");
    fs::create_directories(folder_ / "home");
    for (const char* name : kPrograms) link(name);
    for (const char* name : {"nvidia-smi", "compute-sanitizer"})
      fs::create_symlink(kMachine + "/" + name, folder_ / ("bin/" + std::string(name)));
    // Not what stands for it in a shell's PATH, which may be a script that needs more.
    const ProcessResult python = run_process({"python3", "-c", "import sys; print(sys.executable, end='')"});
    ASSERT_EQ(python.exit_code, 0) << python.err;
    fs::create_symlink(python.out, folder_ / "bin/python3");
  }
  void link(const std::string& name) const {
    for (const char* folder : {"/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/"})
      if (fs::exists(folder + name)) return fs::create_symlink(folder + name, folder_ / ("bin/" + name));
  }
  /// What a command begins with so that of this tree and its build nothing is there but what stands for the machine's
  /// own libraries and programs; nothing where this user may mount nothing.
  std::vector<std::string> alone() const {
    for (const char* how : {"-m", "-rm"})
      if (run_process({"unshare", how, "mount", "-t", "tmpfs", "none", folder_ / "home"}).exit_code == 0)
        return {"unshare", how, kMachine + "/alone.sh", folder_ / "left", source_dir(), build_dir(), emulated_folder(),
                kMachine,  "--"};
    return {};
  }
  /// The check of some parts, there; the kernels that are compiled stay for the next one.
  ProcessResult rehearse(const std::string& parts, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = alone();
    for (const std::string& word :
         {std::string("env"), std::string("-i"), "PATH=" + folder_ / "bin", "HOME=" + folder_ / "home",
          "LD_LIBRARY_PATH=" + emulated_folder(), "PYTHONPATH=" + kMachine, std::string("bash"),
          std::string("pack/scripts/gpu_check.sh"), std::string("--quick"), std::string("--minutes"), std::string("9"),
          std::string("--parts"), parts, std::string("--cache"), emulated_folder() + "/rehearsal",
          std::string("--batch"), std::string("2,4")})
      words.push_back(word);
    words.insert(words.end(), more.begin(), more.end());
    ProcessOptions options;
    options.folder = folder_.path();
    options.limit = std::chrono::minutes(9);
    return run_process(words, options);
  }
  std::string log(const std::string& name) const { return read_file(pack_ + "/logs/" + name); }
};

/// The table at the end.
std::string table_of(const std::string& out) {
  const std::size_t at = out.rfind("\npack ");
  return at == out.npos ? "" : out.substr(at);
}

bool has_row(const std::string& table, const std::string& row) {
  return std::regex_search(table, std::regex("\n" + row));
}

class Rehearsal : public Root, public testing::WithParamInterface<Part> {};

TEST_P(Rehearsal, RunsThePartOutOfAPack) {
  const Part& part = GetParam();
  const ProcessResult result = rehearse(part.name, part.more);
  ASSERT_FALSE(result.timed_out) << result.out;
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  const std::string table = table_of(result.out);
  EXPECT_TRUE(has_row(table, "device +found +Emulated device")) << table;
  for (const std::string& row : part.rows) EXPECT_TRUE(has_row(table, row)) << row << "\n" << table;
  for (const char* word : {" skipped ", " FAILED ", "out of time"})
    EXPECT_EQ(table.find(word), table.npos) << word << table;
  const ProcessResult packed = run_process({"tar", "-tzf", pack_ + "/logs/logs.tar.gz"});
  for (const std::string& name : part.logs) {
    EXPECT_FALSE(log(name).empty()) << name;
    EXPECT_NE(packed.out.find("./" + name + "\n"), packed.out.npos) << name << "\n" << packed.out;
  }
  EXPECT_EQ(log("failures.txt"), "");
  EXPECT_EQ(read_file(folder_ / "home/refused"), "") << "words that NVIDIA's programs were not expected to be given";
}

std::vector<Part> parts() {
  const auto throughput = [](const std::string& name, bool peer) {
    std::vector<std::string> rows{name + " +round 1: baleen \\w+: median step", name + " +baleen .* tokens/s; step",
                                  name + " +products: ", name + " +the card: 690 W of 700, 1530 MHz of 1980"};
    if (peer) rows.push_back(name + " +compile .* is [0-9.]+ .* times as fast");
    return rows;
  };
  const auto both = [](std::vector<std::string> rows, const std::vector<std::string>& more) {
    rows.insert(rows.end(), more.begin(), more.end());
    return rows;
  };
  std::vector<std::string> parity;
  for (const char* script : {"mlp", "gpt"})
    for (const char* dtype : {"fp64", "fp32", "bf16", "fp16"})
      parity.push_back("parity " + std::string(script) + " " + dtype + " +passed +4 losses");
  for (const char* more : {"fp32, 2 ranks", "bf16, 2 ranks", "fp32, 2 ranks over nccl", "fp32, 4 ranks over nccl"})
    parity.push_back("parity gpt " + std::string(more) + " +passed");
  std::vector<std::string> memory;
  for (const char* name : {"host", "nvme", "recompute", "checkpoint", "resumed", "host-bf16", "host-2-ranks",
                           "host-update", "host-update-everything"})
    memory.push_back("memory " + std::string(name) + " +passed +[24] losses are those of inside");
  std::vector<std::string> checked;
  for (const char* tool : {"memcheck", "racecheck", "synccheck", "initcheck"})
    checked.push_back("compute-sanitizer " + std::string(tool) + " +passed +1 test");
  const std::string ms = " +[0-9.]+ ms, [0-9.]+ of the first; [0-9.]+ GiB";
  return {
      {"first", {"first +passed +4 steps, the last loss [0-9.]+"}, {"losses.first.log", "doctor.log"}},
      {"throughput",
       both(throughput("throughput tiny, 2 rows", true), throughput("throughput tiny, 4 rows", true)),
       {"throughput.tiny.2.log", "throughput.tiny.4.log", "throughput.tiny.4.card"}},
      {"profile",
       {"profile +ms a step +here +an H100, measured +expected once +its goal",
        "profile +products of the blocks +[0-9.]+ +59 +52 to 58 +50", "profile +attention, both ways +[0-9.]+ +18.9",
        "profile +whole step +[0-9.]*[1-9]", "profile +what was expected is of 64 rows.*; here are 4 of tiny",
        "profile +products: "},
       {"profile.log", "stages.log"}},
      {"kernels",
       {"norm, bf16, rows of 768 +[0-9]+ GB/s", "AdamW, fp32 +[0-9]+ GB/s",
        "product of 64, bf16 +[0-9.]+ TFLOP/s, PyTorch [0-9.]+"},
       {"kernels.log"}},
      {"conformance",
       {"conformance +passed +[1-9][0-9]* passed, 0 failed"},
       {"conformance.0.log"},
       {"--cases", "*Softmax*fp32*"}},
      {"cross-check",
       {"cross-check +passed +1 passed, 0 failed"},
       {"cross-check.0.log"},
       {"--cases", "Sums.OfOperandsAreMadeBesideProducts"}},
      {"parity", parity, {"losses.gpt.fp32.1.cuda.log", "losses.gpt.fp32.2nccl.cuda.log"}},
      {"memory", memory, {"kept.inside.log", "kept.nvme.log"}},
      {"throughput-1558",
       both(throughput("throughput tiny, 2 rows", false), throughput("throughput tiny, 8 rows", true)),
       {"throughput.tiny.2.alone.log", "throughput.tiny.8.log"},
       {"--batch-1558", "2"}},
      {"throughput-offload",
       {"step, nothing outside" + ms, "step, states outside" + ms, "step, states parameters outside" + ms,
        "step, activations outside" + ms, "step, states outside, update = \"host\"" + ms,
        "step, states parameters outside, update = \"host\"" + ms,
        "step, states outside, update = \"host\", delay_update = true" + ms},
       {"step.inside.log", "step.activations.log"}},
      {"long", {"long +passed +24 steps: loss [0-9.]+, then [0-9.]+; [0-9.]+ ms, then"}, {"step.long.log"}},
      {"throughput-fp32", throughput("throughput tiny", true), {"throughput.tiny.log"}},
      {"sanitizers",
       checked,
       {"sanitizer.memcheck.log", "sanitizer.racecheck.log"},
       {"--cases", "Sums.OfOperandsAreMadeBesideProducts"}},
      {"variants",
       {"variant bf16 " + ms, "variant bf16, deterministic = false" + ms, "variant bf16, graphs = false" + ms,
        "variant bf16, half_logits = true" + ms, "variant fp32 " + ms, "variant fp32, tf32 = true" + ms,
        "variant fp32 +products: "},
       {"step.variant.bf16.log", "step.variant.fp32.tf32---true.log"}},
  };
}

INSTANTIATE_TEST_SUITE_P(Parts, Rehearsal, testing::ValuesIn(parts()),
                         [](const auto& info) { return std::regex_replace(info.param.name, std::regex("-"), "_"); });

/// The words after which the check's list of its parts stands.
TEST_F(Root, RehearsesEveryPart) {
  const ProcessResult refused = rehearse("none");
  EXPECT_EQ(refused.exit_code, 2);
  std::string all = "there are ";
  for (const Part& part : parts()) all += (all.ends_with(' ') ? "" : ", ") + part.name;
  EXPECT_NE(refused.err.find(all + "\n"), refused.err.npos) << refused.err << all;
  EXPECT_EQ(rehearse("first", {"--batch", "16,x"}).err.find("error: --batch is a number of rows"), 0u);
}

/// The program trains nothing, and the suites fail a case: each part's failure is a name with what was said.
TEST_F(Root, TellsOfEveryPartWhatFailed) {
  replace("bin/baleen",
          "[ \"$1\" != doctor ] || { echo '  cuda 0  Emulated device'; exit; }\n"
          "echo 'error: it broke on purpose' >&2; exit 1");
  for (const char* suite : {"test_conformance.compute", "test_conformance.cuda_cross_check"})
    replace(std::string("tests/programs/") + suite,
            "echo '[ RUN      ] A.C'; echo 'it is 3, wanted 4'; echo '[  FAILED  ] A.C (1 ms)'; exit 1");
  replace("tests/programs/bench_device", "echo 'error: no product' >&2; exit 1");
  std::string all;
  for (const Part& part : parts()) all += part.name + ",";
  const ProcessResult result = rehearse(all.substr(0, all.size() - 1));
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  const std::string failures = log("failures.txt");
  for (const char* name :
       {"first: ", "throughput tiny, 2 rows: ", "throughput tiny, 4 rows: ", "throughput tiny, 8 rows: ", "profile: ",
        "parity mlp fp32: ", "parity gpt fp32, 2 ranks over nccl: ", "memory nvme: ", "throughput tiny: ",
        "step, states outside: ", "long: ", "variant bf16: ", "variant fp32, tf32 = true: "}) {
    const std::size_t at = failures.find("== " + std::string(name));
    ASSERT_NE(at, failures.npos) << name << "\n" << failures;
    const std::string section = failures.substr(at, failures.find("\n==", at) - at);
    EXPECT_NE(section.find("error: it broke on purpose"), section.npos) << section;
  }
  EXPECT_NE(failures.find("error: no product"), failures.npos) << failures;
  for (const char* name : {"conformance.0.log", "cross-check.0.log", "sanitizer.racecheck.log"})
    EXPECT_NE(failures.find("== " + std::string(name) + "\nA.C (1 ms)\n[ RUN      ] A.C\nit is 3, wanted 4\n"),
              failures.npos)
        << name << "\n"
        << failures;
  EXPECT_TRUE(has_row(table_of(result.out), "compute-sanitizer racecheck +FAILED")) << result.out;
}

/// The plugin knows one card and its memory, of the other only the name; and some attention goes a slower way.
TEST_F(Root, TakesPeakAndMemoryFromWhatThePluginSays) {
  fs::remove(fs::path(pack_) / "tests/bench/throughput.py");
  folder_.write(
      "pack/tests/bench/throughput.py",
      "import sys\nprint('  asked:', ' '.join(sys.argv[1:]))\n"
      "print('rank 0: attention_grad of bf16 [2, 3] is computed by a slower kernel of its own: too large')\n");
  const auto table = [&](const std::string& device, const std::vector<std::string>& more) {
    replace("bin/baleen", "[ \"$1\" != doctor ] || echo '  cuda 0     Emulated device" + device + "'");
    return table_of(rehearse("throughput-1558", more).out);
  };
  const std::string known = ", compute capability 8.0, 79.3 GiB, 79.0 GiB free, dense TFLOP/s: fp64 9.7, bf16 312";
  const std::string told = table(known, {});
  EXPECT_TRUE(has_row(told, "throughput tiny, 16 rows +asked: .*--peak-tflops 312 ")) << told;
  EXPECT_TRUE(has_row(told, "slower kernel +attention_grad of bf16 .2, 3. is computed by a slower kernel .*too large"))
      << told;
  EXPECT_NE(table(known, {"--peak-tflops", "300"}).find("--peak-tflops 300 "), std::string::npos);
  const std::string unknown = table(", compute capability 12.1, 9.8 GiB, 9.0 GiB free", {});
  EXPECT_TRUE(has_row(unknown, "peak +unknown +no part of it is told")) << unknown;
  EXPECT_TRUE(has_row(unknown, "throughput tiny, 8 rows +asked: ")) << unknown;
  EXPECT_EQ(unknown.find("--peak-tflops 9"), std::string::npos) << unknown;
}

/// A profile as a GPU's, and the plugin's line.
TEST_F(Root, PutsStagesAndProductsBesideWhatWasExpected) {
  replace("bin/baleen",
          "[ \"$1\" != doctor ] || { echo '  cuda 0  Emulated device'; exit; }\n"
          "[ \"$1\" = run ] || exit 0\n"
          "while [ $# -gt 0 ] && [ \"$1\" != --log-json ]; do shift; done\n"
          "[ $# = 0 ] || { echo '{\"kind\":\"start\",\"parameters\":9}'\n"
          "  for i in 1 2 3 4 5 6; do echo '{\"kind\":\"step\",\"elapsed\":'$i'}'; done; } >\"$2\"\n"
          "cat <<'END'\ninfo: products: 12 fused, 3 in two steps, 1 converted, 0 own\n"
          "   9.2 %     40.500      2       0.3     0.0    0.00    0.00  blocks.*.mlp.up (matmul)\n"
          "   9.2 %     10.250      2       0.3     0.0    0.00    0.00  blocks.*.mlp.down.grad (matmul)\n"
          "   0.5 %      1.500     12                                    blocks.*.mlp.up.weight.update (pointwise)\n"
          "   0.5 %      2.000     12                                    blocks.*.attention.out.bias.norm (reduce)\n"
          "   0.5 %     14.000     12                                    blocks.*.attention.grad (attention_grad)\n"
          "   0.5 %      5.000     12                                    blocks.*.mlp_norm (norm)\n"
          "   0.5 %      0.250     12                                    blocks.*.grad (pointwise)\n"
          "   0.5 %     30.000      1                                    loss.grad (linear_cross_entropy_and_grad)\n"
          "   0.5 %      0.300      1                                    embedding.grad (embedding_grad)\n"
          "   0.5 %      0.800    149                                    81 others, each under 0.1 %\n"
          "   0.2 %      1.400      0                                    between launches\n"
          " 100.0 %    106.000    151       0.3            0.00          whole step\nEND");
  const ProcessResult result = rehearse("throughput,profile", {"--batch", "64"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  const std::string table = table_of(result.out);
  for (const char* row : {"profile +products of the blocks +50.8 +59 +52 to 58 +50",
                          "profile +the update, norm and casts +3.5 +8 +3.5 to 4",
                          "profile +attention, both ways +14.0 +18.9 +15 to 17 +15",
                          "profile +norms, sums of residuals +5.2 +10.5 +13 to 16",
                          "profile +the head and its loss +30.0 +31.6 +97 to 140 +28",
                          "profile +gradient of the embedding +0.3 +- +3 to 4", "profile +between launches +1.4",
                          "profile +others +0.8", "profile +whole step +106.0 +135, waiting +190 to 240",
                          "profile +products: 12 fused, 3 in two steps, 1 converted, 0 own",
                          "throughput tiny, 64 rows +products: 12 fused, 3 in two steps, 1 converted, 0 own"})
    EXPECT_TRUE(has_row(table, row)) << row << "\n" << table;
}

}  // namespace
}  // namespace baleen::test

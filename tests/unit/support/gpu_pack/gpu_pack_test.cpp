/// \file scripts/gpu_pack.sh packs all that its programs need; scripts/gpu_check.sh runs out of the pack alone, and
/// does not pass over what fails.
#include "pack.hpp"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>

namespace baleen::test {
namespace {

namespace fs = std::filesystem;

/// What every machine has: the C library and its loader.
const std::regex kOfTheSystem(R"((ld-linux|lib(c|m|dl|rt|pthread|resolv)\.so\.).*)");

bool is_elf(const fs::path& file) {
  return read_file(file.string())
      .starts_with(
          "\x7f"
          "ELF");
}

TEST_F(GpuPack, HoldsEveryLibraryThatItsFilesNeed) {
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(pack_)) {
    if (!entry.is_regular_file()) continue;
    if (!is_elf(entry.path())) continue;
    ++files;
    const ProcessResult asked =
        run_process({"env", "LD_LIBRARY_PATH=" + pack_ + "/libs", "ldd", entry.path().string()});
    ASSERT_EQ(asked.exit_code, 0) << entry.path() << asked.err;
    std::istringstream lines(asked.out);
    for (std::string name, word, place, rest; lines >> name; std::getline(lines, rest)) {
      if (name == "statically") continue;  // "statically linked": it needs none
      if (name.starts_with("linux-vdso") || std::regex_match(fs::path(name).filename().string(), kOfTheSystem))
        continue;
      lines >> word >> place;
      EXPECT_TRUE(place.starts_with(pack_ + "/libs/")) << entry.path() << " gets " << name << " from " << place;
    }
  }
  EXPECT_GT(files, 20u);
  const ProcessResult packed = run_process({"bash", "-c", "tar -C \"$0\" -czf - . | wc -c", pack_});
  EXPECT_LT(std::stoul(packed.out), std::size_t{64} << 20) << "it is carried in one file, packed";
}

/// A name that goes on with a variable or a pattern is none of a file.
TEST_F(GpuPack, HoldsEveryFileThatTheCheckNames) {
  const std::string script = read_file(pack_ + "/scripts/gpu_check.sh");
  const std::regex named(R"x(\$(folder|plugins)/([\w./]*\w)(?=["\s]))x");
  std::size_t count = 0;
  for (std::sregex_iterator at(script.begin(), script.end(), named), end; at != end; ++at) {
    const std::string path = ((*at)[1] == "plugins" ? "lib/baleen/plugins/" : "") + (*at)[2].str();
    if (path == "bin/baleen.sh" || path == "lib/baleen/plugins") continue;
    ++count;
    EXPECT_TRUE(fs::exists(pack_ + "/" + path)) << path;
  }
  EXPECT_GT(count, 8u);
  for (const char* name : {"mlp", "gpt"}) EXPECT_TRUE(fs::exists(pack_ + "/tests/parity/" + name + ".lua")) << name;
}

/// The tree's own modules, which its Python programs import.
TEST_F(GpuPack, HoldsEveryModuleThatItsProgramsImport) {
  const std::regex imported(R"x((?:^|\n)\s*(?:from|import) (\w+))x");
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(pack_ + "/tests/bench")) {
    if (entry.path().extension() != ".py") continue;
    const std::string program = read_file(entry.path().string());
    for (std::sregex_iterator at(program.begin(), program.end(), imported), end; at != end; ++at)
      for (const std::string folder : {"/tests/bench/", "/tests/golden/"}) {
        const std::string module = folder + (*at)[1].str() + ".py";
        if (!fs::exists(source_dir() + module)) continue;
        ++count;
        EXPECT_TRUE(fs::exists(pack_ + module)) << entry.path() << " imports " << module;
      }
  }
  EXPECT_GT(count, 4u);
}

TEST_F(GpuPack, SaysThatThereIsNoDevice) {
  if (fs::exists("/dev/nvidiactl")) GTEST_SKIP() << "there is a /dev/nvidiactl";
  const ProcessResult result = check("cuda");
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  EXPECT_TRUE(std::regex_search(result.out, std::regex("\ndevice +FAILED +none: .*no CUDA driver"))) << result.out;
}

/// The program trains nothing; one suite fails a test, another says nothing at all.
TEST_F(GpuPack, GoesOnAfterAFailureAndTellsIt) {
  replace("bin/baleen", "[ \"$1\" != doctor ] || echo '  cpu 0  a device'; [ \"$1\" = doctor ]");
  replace("tests/programs/test_conformance.compute",
          "echo '[       OK ] A.B (1 ms)'; echo '[  FAILED  ] A.C (1 ms)'; exit 1");
  replace("tests/programs/bench_device", "exit 0");
  const ProcessResult result = check("cpu");
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  const auto table = result.out.rfind("\npack ");
  ASSERT_NE(table, result.out.npos) << result.out;
  const std::string rows = result.out.substr(table + 1);
  for (const char* row : {"conformance +FAILED +1 passed, 1 failed, 0 skipped", "parity mlp fp64 +FAILED +a run failed",
                          "parity gpt bf16, 2 ranks +FAILED", "kernels +FAILED", "throughput +skipped"})
    EXPECT_TRUE(std::regex_search(rows, std::regex("\n" + std::string(row)))) << row << "\n" << rows;
}

/// What the failed cases said is printed and kept, and everything comes back in one file.
TEST_F(GpuPack, ShowsWhatFailedCasesSaid) {
  replace("bin/baleen", "[ \"$1\" != doctor ] || echo '  cpu 0  a device'");
  replace("tests/programs/test_conformance.compute",
          "echo '[ RUN      ] A.B'; echo '[       OK ] A.B (1 ms)'; echo '[ RUN      ] A.C'; echo 'it is 3, wanted 4'\n"
          "echo '[  FAILED  ] A.C (1 ms)'; exit 1");
  const ProcessResult result = check("cpu", {"--parts", "conformance"});
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  const std::string failures = read_file(pack_ + "/logs/failures.txt");
  for (const char* words : {"== conformance.0.log\n", "A.C (1 ms)\n", "it is 3, wanted 4\n"}) {
    EXPECT_NE(failures.find(words), failures.npos) << words << failures;
    EXPECT_NE(result.out.find(words), result.out.npos) << words << result.out;
  }
  const ProcessResult packed = run_process({"tar", "-tzf", pack_ + "/logs/logs.tar.gz"});
  for (const char* file : {"./failures.txt\n", "./conformance.0.log\n", "./doctor.log\n"})
    EXPECT_NE(packed.out.find(file), packed.out.npos) << packed.out;
}

TEST_F(GpuPack, RunsThePartsThatAreWanted) {
  replace("bin/baleen", "[ \"$1\" != doctor ] || echo '  cpu 0  a device'");
  replace("tests/programs/bench_device", "printf 'norm\\t1 GB/s\\n'");
  const ProcessResult result = check("cpu", {"--parts", "kernels"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_TRUE(std::regex_search(result.out, std::regex("\nnorm +1 GB/s"))) << result.out;
  for (const char* other : {"conformance", "parity", "first", "throughput"})
    EXPECT_EQ(result.out.find(std::string("\n") + other), result.out.npos) << result.out;
  const ProcessResult refused = check("cpu", {"--parts", "kernels,speed"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("no part speed; there are first, throughput,"), refused.err.npos) << refused.err;
}

/// Fewer losses than steps, and a suite without a test.
TEST_F(GpuPack, PassesNothingThatProvesNothing) {
  replace("bin/baleen",
          "[ \"$1\" != doctor ] || { echo '  cpu 0  a device'; exit; }\n"
          "while [ \"$1\" != --log-json ]; do shift; done\n"
          "for i in 1 2 3; do echo '{\"kind\":\"step\",\"loss\":1.5}'; done >\"$2\"");
  replace("tests/programs/test_conformance.compute", "exit 0");
  replace("tests/programs/bench_device", "printf 'norm\\t1 GB/s\\n'");
  const ProcessResult result = check("cpu");
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  for (const char* row : {"conformance +FAILED +0 passed", "parity mlp fp32 +FAILED +only 3 losses"})
    EXPECT_TRUE(std::regex_search(result.out, std::regex("\n" + std::string(row)))) << row << "\n" << result.out;
}

}  // namespace
}  // namespace baleen::test

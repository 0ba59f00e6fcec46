/// \file Ranks that may open few files: they run, or end in time and name the limit, wherever it is met.
#include "ranks_run.hpp"
#include "support/places.hpp"
#include "support/running_job.hpp"

namespace baleen::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kStep = 6;
#else
constexpr int kStep = 1;
#endif

struct Transport {
  const char* name;
  std::vector<std::string> settings;
};
void PrintTo(const Transport& transport, std::ostream* out) { *out << transport.name; }

class FewFiles : public Ranks, public testing::WithParamInterface<Transport> {};

TEST_P(FewFiles, AreNamedWithTheirLimit) {
  if (!has_plugin("transport", "ucx")) GTEST_SKIP() << "no transport `ucx` in this tree";
  const std::vector<std::string> words = on_ranks(2, script("batch = 4"), GetParam().settings);
  bool has_failed = false, has_run = false;
  for (int files = 5; files <= 30; files += kStep) {
    std::vector<std::string> limited = {
        "/bin/bash", "-c", "ulimit -n " + std::to_string(files) + "; exec \"$0\" \"$@\"", build_dir() + "/bin/baleen"};
    limited.insert(limited.end(), words.begin(), words.end());
    RunningJob job(limited);
    const auto code = job.ends(std::chrono::seconds(30));
    ASSERT_TRUE(code) << "hangs with " << files << " files:\n" << job.err();
    if (*code == 0) {
      has_run = true;
      continue;
    }
    has_failed = true;
    EXPECT_TRUE(*code == 2 || *code == 3) << *code << " with " << files << " files:\n" << job.err();
    EXPECT_NE(job.err().find("`ulimit -n`"), std::string::npos) << files << " files: " << job.err();
  }
  EXPECT_TRUE(has_failed && has_run) << "of what was tried some is too few, and some enough";
}
INSTANTIATE_TEST_SUITE_P(
    Over, FewFiles,
    testing::Values(Transport{"shm", {"--set", "transport.plugin=\"shm\""}},
                    Transport{"ucx", {"--set", "transport.plugin=\"ucx\""}},
                    Transport{"tcp", {"--set", "transport.plugin=\"ucx\"", "--set", "transport.tls=[\"tcp\"]"}},
                    Transport{"encrypted", {"--set", "transport.plugin=\"ucx\"", "--set", "transport.encrypt=true"}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace baleen::test

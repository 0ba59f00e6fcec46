/// \file Ranks that may open few files: they run, or end in time and name the limit, wherever it is met.
#include <gtest/gtest.h>

#include "support/places.hpp"
#include "support/running_job.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

struct Transport {
  const char* name;
  std::vector<std::string> settings;
};
void PrintTo(const Transport& transport, std::ostream* out) { *out << transport.name; }

class FewFiles : public testing::TestWithParam<Transport> {
 protected:
  const TemporaryFolder folder_;
  const std::string script_ = folder_.write("job.lua", R"(
local baleen = require "baleen"
local rows = {}
for i = 1, 40 do rows[i] = { i / 40, i % 2 } end
return baleen.job { model = baleen.nn.linear { out = 2 }, loss = baleen.nn.cross_entropy {}, batch = 4, steps = 3,
  data = baleen.data.table { rows = rows }, optimizer = baleen.optimizer("sgd", { lr = 0.1 }) }
)");
};

TEST_P(FewFiles, AreNamedWithTheirLimit) {
  if (!has_plugin("transport", "ucx")) GTEST_SKIP() << "no transport `ucx` in this tree";
  std::vector<std::string> words = {"run", script_, "--set", "mesh.data=2"};
  words.insert(words.end(), GetParam().settings.begin(), GetParam().settings.end());
  bool has_failed = false, has_run = false;
  for (int files = 5; files <= 60; files += files < 30 ? 1 : 10) {
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

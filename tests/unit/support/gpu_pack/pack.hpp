/// \file A pack as scripts/gpu_pack.sh leaves it, in a folder that has nothing else.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {

class GpuPack : public testing::Test {
 protected:
  void SetUp() override {
    const ProcessResult packed =
        run_process({source_dir() + "/scripts/gpu_pack.sh", "--build", build_dir(), "--folder", pack_});
    ASSERT_EQ(packed.exit_code, 0) << packed.out << packed.err;
  }
  /// Puts a shell script in the place of one of the pack's programs.
  void replace(const std::string& program, const std::string& body) const {
    const std::string path = pack_ + "/" + program;
    std::filesystem::remove(path);
    folder_.write("pack/" + program, "#!/bin/sh\n" + body + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  ProcessResult check(const std::string& plugin, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{pack_ + "/scripts/gpu_check.sh", "--plugin", plugin, "--minutes", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return run_process(words);
  }

  const TemporaryFolder folder_;
  const std::string pack_ = folder_ / "pack";
};

}  // namespace baleen::test

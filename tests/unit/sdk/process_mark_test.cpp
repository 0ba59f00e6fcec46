/// \file What a killed process left is told from what a living one writes.
#include "baleen/process_mark.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <functional>

#include "support/temporary_folder.hpp"

namespace baleen::sdk {
namespace {

namespace fs = std::filesystem;

class ProcessMark : public testing::Test {
 protected:
  /// In a process that is gone afterwards.
  static void in_another(const std::function<void()>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      work();
      ::_exit(0);
    }
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  }
  std::size_t count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()));
  }
  test::TemporaryFolder folder;
};

TEST_F(ProcessMark, IsOfADeadProcessOnlyWhereItsPidBeganAtAnotherTime) {
  const std::string own = process_mark();
  EXPECT_FALSE(is_mark_of_dead_process(own));
  EXPECT_TRUE(is_mark_of_dead_process(own + "1"));
  EXPECT_FALSE(is_mark_of_dead_process("x" + own + "1")) << "another host's";
  std::string elsewhere = own + "1";
  const std::size_t space = elsewhere.rfind('.', elsewhere.rfind('.', elsewhere.rfind('.') - 1) - 1);
  elsewhere.insert(space + 1, "9");
  EXPECT_FALSE(is_mark_of_dead_process(elsewhere)) << "of another container";
  for (const char* word : {"", ".", "1.2", "host.1.x.3", "host..1.2"})
    EXPECT_FALSE(is_mark_of_dead_process(word)) << word;
}

/// A container's first process may never ask how the processes ended that others left to it.
TEST_F(ProcessMark, IsOfADeadProcessThatNobodyHasAskedAbout) {
  const pid_t child = ::fork();
  if (child == 0) {
    folder.write(process_mark(), "");
    ::_exit(0);
  }
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  ASSERT_EQ(count(), 1u);
  EXPECT_TRUE(is_mark_of_dead_process(fs::directory_iterator(folder.path())->path().filename().string()));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST_F(ProcessMark, LetsPartialsOfTheDeadBeRemovedAndNoOthers) {
  const fs::path target = folder / "model.safetensors";
  in_another([&] {
    folder.write(partial_of("model.safetensors").string(), "half");
    folder.write(partial_of("model.safetensors.2").string(), "of another target");
    folder.write(partial_of("model.after-step-5.safetensors").string(), "saved beside it");
  });
  in_another([&] {
    fs::create_directory(folder / "model.safetensors.partial.folder");
    fs::rename(folder / "model.safetensors.partial.folder", partial_of(target));
    folder.write((partial_of("model.safetensors") / "shard").string(), "half");
  });
  folder.write("model.safetensors", "whole");
  folder.write(partial_of("model.safetensors").string(), "being written");
  folder.write("model.safetensors.partial.7", "somebody's");
  ASSERT_EQ(count(), 7u);
  remove_left_partials(target);
  EXPECT_EQ(count(), 4u);
  EXPECT_TRUE(fs::exists(target));
  EXPECT_TRUE(fs::exists(partial_of(target)));
  EXPECT_TRUE(fs::exists(folder / "model.safetensors.partial.7"));
}

}  // namespace
}  // namespace baleen::sdk

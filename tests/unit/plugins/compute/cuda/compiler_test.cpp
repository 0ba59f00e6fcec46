/// \file The cache of compiled kernels, and compiling several at once.
#include "compiler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "support/temporary_folder.hpp"

namespace baleen::cuda {
namespace {

TEST(CodeCache, GivesBackWhatItKept) {
  const test::TemporaryFolder folder;
  const CodeCache cache(folder / "deep/er");
  EXPECT_EQ(cache.find("a source"), "");
  const std::string code(
      "\x7f"
      "ELF\0code",
      9);
  cache.keep("a source", code);
  EXPECT_EQ(cache.find("a source"), code);
  EXPECT_EQ(cache.find("another source"), "");
  EXPECT_EQ(CodeCache(folder / "deep/er").find("a source"), code) << "another process";
}
TEST(CodeCache, TrustsNoFileWithAnotherKey) {
  const test::TemporaryFolder folder;
  const CodeCache cache(folder.path());
  cache.keep("a source", "code");
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    std::string bytes = test::read_file(file.path().string());
    bytes[8] = 'x';  // the key's first letter, as if two sources had one hash
    folder.write(file.path().filename().string(), bytes);
  }
  EXPECT_EQ(cache.find("a source"), "");
}
TEST(CodeCache, TrustsNoFileThatWasCutShort) {
  const test::TemporaryFolder folder;
  const CodeCache cache(folder.path());
  cache.keep("a source", "code");
  for (const auto& file : std::filesystem::directory_iterator(folder.path()))
    folder.write(file.path().filename().string(), test::read_file(file.path().string()).substr(0, 12));
  EXPECT_EQ(cache.find("a source"), "");
}
TEST(CodeCache, DoesWithoutAFolderThatCannotBeWritten) {
  const CodeCache cache("/proc/no/such/folder");
  cache.keep("a source", "code");
  EXPECT_EQ(cache.find("a source"), "");
}
/// Each turn opens the file itself, so threads stand for processes here.
TEST(CodeCache, LetsOneCompileWhatOthersWaitFor) {
  const test::TemporaryFolder folder;
  const CodeCache cache(folder / "deep/er");
  std::optional<CodeCache::Turn> first(std::in_place, cache, "a source");
  std::string found;
  std::thread second([&] {
    const CodeCache::Turn turn(cache, "a source");
    found = cache.find("a source");
  });
  const CodeCache::Turn other(cache, "another source", std::chrono::hours(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  cache.keep("a source", "code");
  first.reset();
  second.join();
  EXPECT_EQ(found, "code");
}
TEST(CodeCache, IsNotWaitedForForEver) {
  const test::TemporaryFolder folder;
  const CodeCache cache(folder.path());
  {
    const CodeCache::Turn stopped(cache, "a source");
    const CodeCache::Turn impatient(cache, "a source", std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "what was locked is left";
  const CodeCache::Turn nowhere(CodeCache("/proc/no/such/folder"), "a source", std::chrono::hours(1));
}
TEST(CodeCache, LiesInTheUsersCacheFolder) {
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(default_cache_folder(), "/somewhere/baleen/cuda");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/home/whale", 1);
  EXPECT_EQ(default_cache_folder(), "/home/whale/.cache/baleen/cuda");
}

/// NVRTC as far as the compiler asks: code is the source behind "code of ", and a source with "nonsense" fails.
class Stand {
 public:
  Stand() {
    nvrtc_.version = "1.0";
    nvrtc_.nvrtcGetErrorString = [](nvrtcResult) { return "NVRTC_ERROR_COMPILATION"; };
    nvrtc_.nvrtcCreateProgram = [](nvrtcProgram* out, const char* source, const char*, int, const char* const*,
                                   const char* const*) {
      *out = reinterpret_cast<nvrtcProgram>(new std::string(source));
      return NVRTC_SUCCESS;
    };
    nvrtc_.nvrtcDestroyProgram = [](nvrtcProgram* program) {
      delete &text(*program);
      return NVRTC_SUCCESS;
    };
    nvrtc_.nvrtcCompileProgram = [](nvrtcProgram program, int, const char* const*) { return meet(text(program)); };
    nvrtc_.nvrtcGetProgramLogSize = nvrtc_.nvrtcGetCUBINSize = [](nvrtcProgram program, std::size_t* bytes) {
      *bytes = made(program).size();
      return NVRTC_SUCCESS;
    };
    nvrtc_.nvrtcGetProgramLog = nvrtc_.nvrtcGetCUBIN = [](nvrtcProgram program, char* out) {
      made(program).copy(out, std::string::npos);
      return NVRTC_SUCCESS;
    };
    driver_.cuModuleLoadData = [](CUmodule* module, const void* code) {
      const std::string bytes = static_cast<const char*>(code);
      *module = reinterpret_cast<CUmodule>(static_cast<std::size_t>(++loaded_));
      return bytes.starts_with("code of ") ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
    };
    driver_.cuModuleUnload = [](CUmodule) { return CUDA_SUCCESS; };
    driver_.cuGetErrorName = [](CUresult, const char** name) {
      *name = "a failure";
      return CUDA_SUCCESS;
    };
    driver_.cuGetErrorString = driver_.cuGetErrorName;
    compiled_ = most_ = loaded_ = 0;
    together_ = 1;
  }

  Compiler compiler(std::size_t threads) { return {driver_, nvrtc_, folder_.path(), 90, threads}; }
  /// From now on a compilation waits until so many are under way, or for a long time in vain.
  static void gather(int together) { together_ = together; }
  static int compiled() { return compiled_; }
  /// How many were under way at once.
  static int most() { return most_; }
  static int loaded() { return loaded_; }
  const test::TemporaryFolder& folder() const { return folder_; }

 private:
  static std::string& text(nvrtcProgram program) { return *reinterpret_cast<std::string*>(program); }
  static std::string made(nvrtcProgram program) { return "code of " + text(program); }
  static nvrtcResult meet(const std::string& source) {
    std::unique_lock lock(mutex_);
    ++compiled_;
    most_ = std::max(most_, ++under_way_);
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::seconds(20), [] { return most_ >= together_; });
    --under_way_;
    return source.find("nonsense") == source.npos ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
  }

  static inline std::mutex mutex_;
  static inline std::condition_variable changed_;
  static inline int compiled_ = 0, under_way_ = 0, most_ = 0, together_ = 1;
  static inline int loaded_ = 0;  // by one thread
  test::TemporaryFolder folder_;
  Nvrtc nvrtc_;
  Driver driver_{};
};

std::string numbered(int i) { return "source " + std::to_string(i); }

TEST(Compiler, CompilesSeveralSourcesAtOnce) {
  Stand stand;
  Stand::gather(3);
  {
    Compiler compiler = stand.compiler(3);
    for (int i = 0; i < 8; ++i) compiler.begin(numbered(i));
    for (int i = 0; i < 8; ++i) compiler.begin(numbered(i));  // no second time
    for (int i = 8; i-- > 0;) EXPECT_TRUE(compiler.module(numbered(i)));
    const auto one = compiler.module(numbered(2)), again = compiler.module(numbered(2));
    ASSERT_TRUE(one && again);
    EXPECT_EQ(*one, *again);
    EXPECT_TRUE(compiler.module("not begun"));
  }
  EXPECT_EQ(Stand::most(), 3) << "as many as there are threads";
  EXPECT_EQ(Stand::compiled(), 9);
  EXPECT_EQ(Stand::loaded(), 9);
}
TEST(Compiler, WaitsForNoSourceThatNobodyAsksFor) {
  Stand stand;
  {
    Compiler compiler = stand.compiler(1);
    for (int i = 0; i < 100; ++i) compiler.begin(numbered(i));
  }
  EXPECT_LT(Stand::compiled(), 100) << "the others were forgotten";
  EXPECT_EQ(Stand::loaded(), 0);
}
TEST(Compiler, TellsAFailureToWhoAsksForItsSource) {
  Stand stand;
  Compiler compiler = stand.compiler(4);
  for (const char* source : {"one", "nonsense", "other"}) compiler.begin(source, "the text of a test");
  EXPECT_TRUE(compiler.module("one"));
  for (int time = 0; time < 2; ++time) {
    const auto failed = compiler.module("nonsense", "the text of a test");
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message,
              "compiling the text of a test failed with NVRTC_ERROR_COMPILATION: code of nonsense");
  }
  EXPECT_TRUE(compiler.module("other"));
  EXPECT_EQ(Stand::compiled(), 4) << "what failed is tried again";
}
TEST(Compiler, TakesWhatTheCacheHas) {
  Stand stand;
  {
    Compiler compiler = stand.compiler(2);
    for (int i = 0; i < 4; ++i) compiler.begin(numbered(i));
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(compiler.module(numbered(i)));
  }
  for (const auto& file : std::filesystem::directory_iterator(stand.folder().path()))
    EXPECT_EQ(file.path().extension(), ".cubin") << "a lock is left";
  Compiler another = stand.compiler(2);
  for (int i = 0; i < 4; ++i) another.begin(numbered(i));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(another.module(numbered(i)));
  EXPECT_EQ(Stand::compiled(), 4);
  EXPECT_EQ(Stand::loaded(), 8);
}
/// Two ranks of a host, or two devices of a process.
TEST(Compiler, LeavesASourceToWhoCompilesItAlready) {
  Stand stand;
  Compiler one = stand.compiler(2), other = stand.compiler(2);
  for (Compiler* compiler : {&one, &other})
    for (int i = 0; i < 6; ++i) compiler->begin(numbered(i));
  for (Compiler* compiler : {&one, &other})
    for (int i = 0; i < 6; ++i) EXPECT_TRUE(compiler->module(numbered(i)));
  EXPECT_EQ(Stand::compiled(), 6);
}
TEST(Compiler, CompilesAnewWhatTheDriverDoesNotTakeFromTheCache) {
  Stand stand;
  CodeCache(stand.folder().path()).keep("nvrtc 1.0 sm_90\nsource", "of another world");
  Compiler compiler = stand.compiler(2);
  EXPECT_TRUE(compiler.module("source"));
  EXPECT_EQ(Stand::compiled(), 1);
  EXPECT_EQ(CodeCache(stand.folder().path()).find("nvrtc 1.0 sm_90\nsource"), "code of source");
}

}  // namespace
}  // namespace baleen::cuda

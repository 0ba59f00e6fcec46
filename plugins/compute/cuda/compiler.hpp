/// \file Compiling generated kernels at run time by NVRTC, with a cache on disk.
#pragma once
#include <nvrtc.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "baleen/plugin.hpp"
#include "driver.hpp"
#include "workers.hpp"

namespace baleen::cuda {

#define BALEEN_NVRTC_FUNCTIONS(X) \
  X(nvrtcVersion)                 \
  X(nvrtcGetErrorString)          \
  X(nvrtcCreateProgram)           \
  X(nvrtcDestroyProgram)          \
  X(nvrtcCompileProgram) X(nvrtcGetProgramLogSize) X(nvrtcGetProgramLog) X(nvrtcGetCUBINSize) X(nvrtcGetCUBIN)

/// NVRTC's functions.
struct Nvrtc {
  BALEEN_NVRTC_FUNCTIONS(BALEEN_DECLARE_SYMBOL)
  std::string version;  ///< "13.0"
};

/// Fails where there is no NVRTC, naming it. Works without a driver.
Result<Nvrtc> open_nvrtc(const std::vector<std::string>& folders);

/// Machine code for a compute capability ("90") of a source that needs no headers. Nothing is contracted to FMA. The
/// compiler's words on failure; `what` says what was compiled.
Result<std::string> compile_source(const Nvrtc& nvrtc, const std::string& source, int compute_capability,
                                   const std::string& what = "a pointwise kernel");

/// Compiled sources as files, one each. A file holds its key, so a clash of hashes is no harm; files are written
/// beside and renamed, so ranks may share the folder. A folder that cannot be written is no failure.
class CodeCache {
 public:
  /// While one lives, other processes that want to compile the same key wait, but not for longer than their patience:
  /// this one may be stopped. It ends with its process.
  class Turn {
   public:
    Turn(const CodeCache& cache, const std::string& key, std::chrono::milliseconds patience = std::chrono::seconds(20));
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    std::filesystem::path path_;
    int file_ = -1;
  };

  explicit CodeCache(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// Empty where there is none.
  std::string find(const std::string& key) const;
  void keep(const std::string& key, const std::string& code) const;

 private:
  std::filesystem::path file(const std::string& key) const;
  std::filesystem::path folder_;
};

/// Where compiled kernels are kept when no folder is given: XDG_CACHE_HOME, else .cache in the home folder.
std::filesystem::path default_cache_folder();
/// The folder of the option `cache`, else that one.
std::filesystem::path cache_folder(const Settings& settings);

/// From a source to a module of the device, each source once. [any thread that works with the device's context]
class Compiler {
 public:
  /// NVRTC compiles so many sources at once, or as many as there are processors, if these are fewer.
  static constexpr std::size_t kMostThreads = 8;

  /// Without NVRTC, for plans, sources are taken as they are.
  Compiler(const Driver& driver, std::optional<Nvrtc> nvrtc, std::filesystem::path cache_folder, int compute_capability,
           std::size_t threads = std::min(kMostThreads, usable_processors()))
      : driver_(driver),
        nvrtc_(std::move(nvrtc)),
        cache_(std::move(cache_folder)),
        capability_(compute_capability),
        workers_(threads) {}
  ~Compiler();
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  /// Begins to compile a source, for which module() waits.
  void begin(const std::string& source, const std::string& what = kPointwise);
  Result<CUmodule> module(const std::string& source, const std::string& what = kPointwise);
  std::string version() const { return nvrtc_ ? nvrtc_->version : "missing"; }

 private:
  static constexpr const char* kPointwise = "a pointwise kernel";
  struct Code {
    std::string bytes;
    bool was_kept = false;  ///< in the cache, from another time
  };

  std::string key(const std::string& source) const;
  /// From the cache, or compiled and kept there.
  Result<Code> code(const std::string& source, const std::string& what) const;
  Result<Code> compile(const std::string& source, const std::string& what) const;
  std::future<Result<Code>>& begun(const std::string& source, const std::string& what);

  const Driver& driver_;
  std::optional<Nvrtc> nvrtc_;
  CodeCache cache_;
  int capability_;
  std::mutex mutex_;  ///< of the maps
  std::map<std::string, CUmodule> modules_;
  std::map<std::string, std::future<Result<Code>>> begun_;
  Workers workers_;  ///< the last member: its threads use the others
};

}  // namespace baleen::cuda

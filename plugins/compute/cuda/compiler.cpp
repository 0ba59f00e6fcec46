/// \file NVRTC and the cache of what it made.
#include "compiler.hpp"

#define XXH_INLINE_ALL
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>

namespace baleen::cuda {

Result<Nvrtc> open_nvrtc(const std::vector<std::string>& folders) {
  auto opened = Library::open(folders, "libnvrtc.so." + std::to_string(CUDA_VERSION / 1000));
  if (!opened)
    return Error{BALEEN_NOT_FOUND,
                 "NVRTC is missing, which compiles kernels from text (" + opened.error().message +
                     "); install CUDA's package cuda-nvrtc, or name its folder in the option `libraries`",
                 {}};
  const Library& library = *opened;
  Nvrtc table;
  std::string missing;
  BALEEN_NVRTC_FUNCTIONS(BALEEN_FIND_SYMBOL)
  if (!missing.empty()) return unsupported(library.path() + " lacks " + missing);
  int major = 0, minor = 0;
  if (table.nvrtcVersion(&major, &minor) != NVRTC_SUCCESS) return internal("NVRTC does not tell its version");
  table.version = std::to_string(major) + "." + std::to_string(minor);
  return table;
}

namespace {

/// A program of NVRTC's.
class RuntimeProgram {
 public:
  RuntimeProgram(const Nvrtc& nvrtc, const std::string& source) : nvrtc_(nvrtc) {
    made_ = nvrtc_.nvrtcCreateProgram(&program_, source.c_str(), "kernel.cu", 0, nullptr, nullptr);
  }
  ~RuntimeProgram() {
    if (made_ == NVRTC_SUCCESS) nvrtc_.nvrtcDestroyProgram(&program_);
  }
  RuntimeProgram(const RuntimeProgram&) = delete;
  RuntimeProgram& operator=(const RuntimeProgram&) = delete;

  Result<std::string> compile(const std::vector<std::string>& options, const std::string& what) {
    std::vector<const char*> texts;
    for (const std::string& option : options) texts.push_back(option.c_str());
    nvrtcResult result = made_;
    if (result == NVRTC_SUCCESS)
      result = nvrtc_.nvrtcCompileProgram(program_, static_cast<int>(texts.size()), texts.data());
    if (result != NVRTC_SUCCESS)
      return internal("compiling " + what + " failed with " + nvrtc_.nvrtcGetErrorString(result) + ": " + log());
    std::size_t bytes = 0;
    if (nvrtc_.nvrtcGetCUBINSize(program_, &bytes) != NVRTC_SUCCESS) return internal("NVRTC made no code");
    std::string code(bytes, '\0');
    if (nvrtc_.nvrtcGetCUBIN(program_, code.data()) != NVRTC_SUCCESS) return internal("NVRTC gives no code");
    return code;
  }

 private:
  std::string log() const {
    std::size_t bytes = 0;
    if (made_ != NVRTC_SUCCESS || nvrtc_.nvrtcGetProgramLogSize(program_, &bytes) != NVRTC_SUCCESS) return "";
    std::string text(bytes, '\0');
    if (nvrtc_.nvrtcGetProgramLog(program_, text.data()) != NVRTC_SUCCESS) return "";
    return text.substr(0, text.find_last_not_of(std::string("\0\n ", 3)) + 1);
  }

  const Nvrtc& nvrtc_;
  nvrtcProgram program_ = nullptr;
  nvrtcResult made_;
};

}  // namespace

Result<std::string> compile_source(const Nvrtc& nvrtc, const std::string& source, int compute_capability,
                                   const std::string& what) {
  return RuntimeProgram(nvrtc, source)
      .compile({"--gpu-architecture=sm_" + std::to_string(compute_capability), "--std=c++17", "--fmad=false",
                "--disable-warnings"},
               what);
}

std::filesystem::path CodeCache::file(const std::string& key) const {
  const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  char name[48];
  std::snprintf(name, sizeof name, "%016llx%016llx.cubin", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return folder_ / name;
}

// A file is: the key's length in eight bytes, the key, the code.
std::string CodeCache::find(const std::string& key) const {
  std::ifstream stream(file(key), std::ios::binary);
  const std::string all(std::istreambuf_iterator<char>(stream), {});
  std::uint64_t length = 0;
  if (all.size() < sizeof length) return "";
  std::copy_n(all.data(), sizeof length, reinterpret_cast<char*>(&length));
  if (length != key.size() || all.size() <= sizeof length + key.size()) return "";
  return all.compare(sizeof length, key.size(), key) == 0 ? all.substr(sizeof length + key.size()) : "";
}

void CodeCache::keep(const std::string& key, const std::string& code) const {
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);
  const std::filesystem::path to = file(key);
  const std::filesystem::path part = to.string() + "." + std::to_string(gettid());
  const std::uint64_t length = key.size();
  std::ofstream stream(part, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(&length), sizeof length);
  stream << key << code;
  stream.close();
  if (stream)
    std::filesystem::rename(part, to, ignored);
  else
    std::filesystem::remove(part, ignored);
}

// Where files cannot be locked, everyone compiles.
CodeCache::Turn::Turn(const CodeCache& cache, const std::string& key, std::chrono::milliseconds patience)
    : path_(cache.file(key).string() + ".turn") {
  std::error_code ignored;
  std::filesystem::create_directories(cache.folder_, ignored);
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) return;
  const auto end = std::chrono::steady_clock::now() + patience;
  while (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EINTR && (errno != EWOULDBLOCK || std::chrono::steady_clock::now() > end)) {
      ::close(std::exchange(file_, -1));
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// Who waits for the file that is removed here finds the code when it is its turn, as does who makes a new one.
CodeCache::Turn::~Turn() {
  if (file_ < 0) return;
  ::unlink(path_.c_str());
  ::close(file_);
}

std::filesystem::path default_cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return std::filesystem::path(cache) / "baleen/cuda";
  if (const char* home = std::getenv("HOME"); home && *home) return std::filesystem::path(home) / ".cache/baleen/cuda";
  return std::filesystem::temp_directory_path() / ("baleen-cuda-" + std::to_string(getuid()));
}

std::filesystem::path cache_folder(const Settings& settings) {
  const std::string_view folder = settings.text("cache");
  if (folder.empty()) return default_cache_folder();
  return std::filesystem::path(settings.folder()) / folder;  // an absolute one stays
}

Compiler::~Compiler() {
  for (const auto& [source, module] : modules_) driver_.cuModuleUnload(module);
}

std::string Compiler::key(const std::string& source) const {
  return "nvrtc " + nvrtc_->version + " sm_" + std::to_string(capability_) + "\n" + source;
}

Result<Compiler::Code> Compiler::compile(const std::string& source, const std::string& what) const {
  BALEEN_TRY_ASSIGN(std::string made, compile_source(*nvrtc_, source, capability_, what));
  cache_.keep(key(source), made);
  return Code{std::move(made)};
}

Result<Compiler::Code> Compiler::code(const std::string& source, const std::string& what) const {
  const std::string name = key(source);
  if (std::string kept = cache_.find(name); !kept.empty()) return Code{std::move(kept), true};
  const CodeCache::Turn turn(cache_, name);  // ranks of a host come to the same kernels at the same time
  if (std::string kept = cache_.find(name); !kept.empty()) return Code{std::move(kept), true};
  return compile(source, what);
}

std::future<Result<Compiler::Code>>& Compiler::begun(const std::string& source, const std::string& what) {
  std::future<Result<Code>>& made = begun_[source];
  if (made.valid()) return made;
  auto task = std::make_shared<std::packaged_task<Result<Code>()>>([=, this] { return code(source, what); });
  made = task->get_future();
  workers_.add([task] { (*task)(); });
  return made;
}

void Compiler::begin(const std::string& source, const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (nvrtc_ && !modules_.contains(source)) begun(source, what);
}

Result<CUmodule> Compiler::module(const std::string& source, const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (const auto known = modules_.find(source); known != modules_.end()) return known->second;
  CUmodule module = nullptr;
  if (!nvrtc_) {
    BALEEN_TRY(driver_.check(driver_.cuModuleLoadData(&module, source.data()), "loading a text"));
    return modules_.emplace(source, module).first->second;
  }
  Result<Code> made = begun(source, what).get();
  begun_.erase(source);
  if (!made) return std::move(made).error();
  CUresult loaded = driver_.cuModuleLoadData(&module, made->bytes.data());
  if (loaded != CUDA_SUCCESS && made->was_kept) {
    BALEEN_TRY_ASSIGN(made, compile(source, what));
    loaded = driver_.cuModuleLoadData(&module, made->bytes.data());
  }
  BALEEN_TRY(driver_.check(loaded, ("loading " + what).c_str()));
  modules_.emplace(source, module);
  return module;
}

}  // namespace baleen::cuda

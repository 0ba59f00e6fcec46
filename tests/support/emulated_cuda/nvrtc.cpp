/// \file The part of NVRTC that the plugin calls: the C++ compiler makes a library of the source, whose bytes are the
/// "machine code" that the emulated driver loads.
#include <fcntl.h>
#include <nvrtc.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

struct _nvrtcProgram {
  std::string source, log, code;
};

namespace {

constexpr const char* kSource = "kernel.cpp";
constexpr const char* kObject = "kernel.o";
constexpr const char* kLibrary = "kernel.so";
constexpr const char* kLog = "log";

/// A folder for one compilation, that is gone with this object. It lies beside the header, so that the compiler cache
/// finds the same words whatever the build's folder is called; in /tmp where nothing can be written there.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    for (const std::string parent : {EMULATED_FOLDER, "/tmp"}) {
      path_ = parent + "/nvrtc_XXXXXX";
      if (mkdtemp(path_.data())) return;
    }
    path_.clear();
  }
  ~TemporaryFolder() {
    for (const char* name : {kSource, kObject, kLibrary, kLog}) unlink((path_ + "/" + name).c_str());
    rmdir(path_.c_str());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Whether all of it was written.
  bool write(const char* name, const std::string& text) const {
    std::ofstream file(path_ + "/" + name, std::ios::binary);
    file << text << std::flush;
    return !path_.empty() && file.good();
  }
  std::string contents(const char* name) const {
    std::ifstream file(path_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

std::vector<std::string> split(const char* text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

/// Makes an object of the source: what was compiled once is found again where there is a compiler cache.
std::vector<std::string> compile_command() {
  std::vector<std::string> words = split(EMULATED_CACHE " " EMULATED_COMPILER);
  for (const char* word : {"-include", EMULATED_HEADER, "-c", kSource, "-o", kObject}) words.push_back(word);
  return words;
}

std::vector<std::string> link_command() {
  std::vector<std::string> words = split(EMULATED_COMPILER);
  for (const char* word : {"-shared", kObject, EMULATED_DRIVER, "-o", kLibrary}) words.push_back(word);
  return words;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

/// Runs it in the folder without a shell; what it says goes into the log there. True where it ended well.
bool run(std::vector<std::string> command, const TemporaryFolder& folder) {
  std::vector<std::string> environment = split(EMULATED_CACHE_SETTINGS);
  for (char** variable = environ; *variable; ++variable)
    if (!std::string_view(*variable).starts_with("CCACHE_")) environment.emplace_back(*variable);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.path().c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, kLog, O_WRONLY | O_CREAT | O_APPEND, 0600);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, command[0].c_str(), &actions, nullptr, pointers(command).data(),
                                  pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  while (!failed && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0;
}

}  // namespace

extern "C" {

nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = 0;
  *minor = EMULATED_VERSION;
  return NVRTC_SUCCESS;
}
const char* nvrtcGetErrorString(nvrtcResult) { return "an emulated failure"; }
nvrtcResult nvrtcCreateProgram(nvrtcProgram* out, const char* source, const char*, int, const char* const*,
                               const char* const*) {
  *out = new _nvrtcProgram{source, {}, {}};
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int, const char* const*) {
  const TemporaryFolder folder;
  if (!folder.write(kSource, program->source)) return NVRTC_ERROR_INTERNAL_ERROR;
  const bool made = run(compile_command(), folder) && run(link_command(), folder);
  program->log = folder.contents(kLog);
  if (!made) return NVRTC_ERROR_COMPILATION;
  const std::string library = folder.contents(kLibrary);
  const std::uint64_t size = library.size();
  program->code = "EMULATED" + std::string(reinterpret_cast<const char*>(&size), sizeof size) + library;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, std::size_t* bytes) {
  *bytes = program->log.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  log[program->log.copy(log, program->log.size())] = 0;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* bytes) {
  *bytes = program->code.size();
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* code) {
  program->code.copy(code, program->code.size());
  return NVRTC_SUCCESS;
}

}  // extern "C"

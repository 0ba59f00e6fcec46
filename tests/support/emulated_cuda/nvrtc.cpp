/// \file The part of NVRTC that the plugin calls: the C++ compiler makes a library of the source, whose bytes are the
/// "machine code" that the emulated driver loads.
#include <fcntl.h>
#include <nvrtc.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

struct _nvrtcProgram {
  std::string source, log, code;
};

namespace {

/// A file that is gone with this object.
class TemporaryFile {
 public:
  TemporaryFile() : descriptor_(mkostemp(path_, O_CLOEXEC)) {}
  ~TemporaryFile() {
    if (descriptor_ < 0) return;
    close(descriptor_);
    unlink(path_);
  }
  TemporaryFile(const TemporaryFile&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  const char* path() const { return path_; }
  /// Of what is at the path now: a compiler may have put another file there.
  std::string contents() const {
    std::ifstream file(path_, std::ios::binary | std::ios::ate);
    std::string bytes(file ? static_cast<std::size_t>(file.tellg()) : 0, '\0');
    file.seekg(0);
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return bytes;
  }

 private:
  char path_[32] = "/tmp/emulated_nvrtc_XXXXXX";
  int descriptor_;
};

/// The compiler with its options and the files: the source comes from its standard input.
std::vector<std::string> compiler_command(const std::string& library) {
  std::vector<std::string> words;
  std::istringstream compiler(EMULATED_COMPILER);
  for (std::string word; compiler >> word;) words.push_back(word);
  for (const char* word : {"-pipe", "-shared", "-include", EMULATED_HEADER, "-o"}) words.push_back(word);
  words.push_back(library);
  for (const char* word : {"-x", "c++", "-", "-x", "none", EMULATED_DRIVER}) words.push_back(word);
  return words;
}

/// Runs it without a shell; its words go into `log`. True where it ended well.
bool run(std::vector<std::string> command, const TemporaryFile& source, const TemporaryFile& log) {
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, source.path(), O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, log.descriptor(), STDERR_FILENO);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
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
  const TemporaryFile source, made, log;
  if (!source.is_open() || !made.is_open() || !log.is_open()) return NVRTC_ERROR_INTERNAL_ERROR;
  const std::string& text = program->source;
  if (write(source.descriptor(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return NVRTC_ERROR_INTERNAL_ERROR;
  const bool compiled = run(compiler_command(made.path()), source, log);
  program->log = log.contents();
  if (!compiled) return NVRTC_ERROR_COMPILATION;
  const std::string library = made.contents();
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

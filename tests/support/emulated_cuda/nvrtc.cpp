/// \file The part of NVRTC that the plugin calls: the C++ compiler makes a library of the source, whose bytes are the
/// "machine code" that the emulated driver loads.
#include <nvrtc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

struct _nvrtcProgram {
  std::string source, log, code;
};

namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
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
  char folder[] = "/tmp/emulated_nvrtc_XXXXXX";
  if (!mkdtemp(folder)) return NVRTC_ERROR_INTERNAL_ERROR;
  const std::string base = folder;
  std::ofstream(base + "/kernel.cpp") << program->source;
  const std::string command = std::string(EMULATED_COMPILER) + " -shared -include " + EMULATED_HEADER + " -o " + base +
                              "/kernel.so " + base + "/kernel.cpp " + EMULATED_DRIVER + " 2>" + base + "/log";
  const int status = std::system(command.c_str());
  program->log = contents(base + "/log");
  const std::string library = contents(base + "/kernel.so");
  std::system(("rm -r " + base).c_str());
  if (status != 0) return NVRTC_ERROR_COMPILATION;
  const std::uint64_t size = library.size();
  program->code = "EMULATED" + std::string(reinterpret_cast<const char*>(&size), sizeof size) + library;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, std::size_t* bytes) {
  *bytes = program->log.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  std::memcpy(log, program->log.c_str(), program->log.size() + 1);
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* bytes) {
  *bytes = program->code.size();
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* code) {
  std::memcpy(code, program->code.data(), program->code.size());
  return NVRTC_SUCCESS;
}

}  // extern "C"

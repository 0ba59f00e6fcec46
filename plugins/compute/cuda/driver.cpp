/// \file Opening the driver, and what to say where that fails.
#include "driver.hpp"

#include "baleen/environment.hpp"

namespace baleen::cuda {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string Driver::text(CUresult result) const {
  const char *name = nullptr, *meaning = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name) return "CUDA error " + std::to_string(result);
  if (cuGetErrorString(result, &meaning) != CUDA_SUCCESS || !meaning) return name;
  return std::string(name) + ": " + meaning;
}

Result<CUfunction> Driver::function(CUmodule module, const char* name) const {
  CUfunction found = nullptr;
  if (cuModuleGetFunction(&found, module, name) != CUDA_SUCCESS) return CUfunction{};
  BALEEN_TRY(check(cuFuncLoad(found), "loading a kernel"));
  return found;
}

Status Driver::check(CUresult result, const char* doing) const {
  if (result == CUDA_SUCCESS) return {};
  const baleen_status_t code = result == CUDA_ERROR_OUT_OF_MEMORY ? BALEEN_NO_MEMORY : BALEEN_INTERNAL;
  return Error{code, std::string(doing) + " failed with " + text(result), {}};
}

namespace {

Status check_version(const Driver& driver) {
  int version = 0;
  BALEEN_TRY(driver.check(driver.cuDriverGetVersion(&version), "asking for the driver's version"));
  if (version / 1000 >= CUDA_VERSION / 1000) return {};
  return unsupported("the CUDA driver is too old: it supports CUDA " + version_text(version) + ", this plugin needs " +
                     version_text(CUDA_VERSION / 1000 * 1000) + " or later; update NVIDIA's driver");
}

}  // namespace

Result<Driver> open_driver(const std::vector<std::string>& folders) {
  auto opened = Library::open(folders, "libcuda.so.1");
  if (!opened)
    return Error{BALEEN_NOT_FOUND,
                 "there is no CUDA driver on this machine (" + opened.error().message +
                     "); install NVIDIA's driver, or compute on another device, such as `cpu`",
                 {}};
  const Library& library = *opened;
  Driver table;
  std::string missing;
  BALEEN_DRIVER_FUNCTIONS(BALEEN_FIND_SYMBOL)
  if (table.cuDriverGetVersion && table.cuGetErrorName && table.cuGetErrorString) BALEEN_TRY(check_version(table));
  if (!missing.empty())
    return unsupported("the CUDA driver " + library.path() + " lacks " + missing + "; update NVIDIA's driver");
  // As many hardware queues as there can be: streams that share one wait for each other, and a transport's for peers.
  sdk::set_where_unset("CUDA_DEVICE_MAX_CONNECTIONS", "32");
  if (const CUresult result = table.cuInit(0); result != CUDA_SUCCESS && result != CUDA_ERROR_NO_DEVICE)
    return Error{BALEEN_NOT_FOUND, "the CUDA driver does not start (" + table.text(result) + ")", {}};
  return table;
}

}  // namespace baleen::cuda

/// \file Loads the kernels' images into the device.
#include "functions.hpp"

#include <algorithm>

namespace baleen::cuda {

Status Functions::load() {
  for (std::size_t i = 0; i < kImageCount; ++i) {
    CUmodule module = nullptr;
    const CUresult result = driver_.cuModuleLoadData(&module, kImages[i].data);
    if (result != CUDA_SUCCESS)
      return internal(std::string("loading the kernels of ") + kImages[i].name + " failed with " +
                      driver_.text(result));
    modules_.push_back(module);
  }
  return {};
}

Functions::~Functions() {
  for (CUmodule module : modules_) driver_.cuModuleUnload(module);
}

Result<CUfunction> Functions::find(const std::string& name, std::uint64_t shared_bytes) {
  Found& found = found_[name];
  for (std::size_t i = 0; !found.function && i < modules_.size(); ++i) {
    BALEEN_TRY_ASSIGN(found.function, driver_.function(modules_[i], name.c_str()));
  }
  if (!found.function) return internal("the plugin has no kernel `" + name + "`");
  constexpr std::uint64_t kAlways = 44 << 10;  // 48 KiB less what kernels declare statically
  if (shared_bytes > std::max(kAlways, found.shared_bytes)) {
    BALEEN_TRY(driver_.check(driver_.cuFuncSetAttribute(found.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                        static_cast<int>(shared_bytes)),
                             "asking for shared memory"));
    found.shared_bytes = shared_bytes;
  }
  return found.function;
}

}  // namespace baleen::cuda

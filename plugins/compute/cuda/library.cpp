/// \file Opens libraries by dlopen.
#include "library.hpp"

#include <dlfcn.h>

namespace baleen::cuda {

Result<Library> Library::open(const std::vector<std::string>& folders, const std::string& file) {
  std::vector<std::string> paths;
  for (const std::string& folder : folders) paths.push_back(folder + "/" + file);
  paths.push_back(file);
  paths.push_back("/usr/local/cuda/lib64/" + file);
  std::string reason;
  for (const std::string& path : paths) {
    Library library;
    library.handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle_) {
      library.path_ = path;
      return library;
    }
    if (const char* text = dlerror(); text && reason.empty()) reason = text;
  }
  return Error{BALEEN_NOT_FOUND, reason.empty() ? file + " cannot be opened" : reason, {}};
}

void* Library::symbol(const char* name) const { return handle_ ? dlsym(handle_, name) : nullptr; }

}  // namespace baleen::cuda

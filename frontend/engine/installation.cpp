/// \file From the file that holds this code to the folders beside it.
#include "frontend/engine/installation.hpp"

#include <dlfcn.h>
#include <link.h>

#include <system_error>

#include "core/plugin/registry.hpp"

namespace baleen::app {
namespace {

namespace fs = std::filesystem;

/// The shared library that this code is in; empty where it is in the program itself.
fs::path own_library() {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(&installed_plugins), &info, reinterpret_cast<void**>(&map),
              RTLD_DL_LINKMAP) == 0 ||
      !map || !map->l_name || !*map->l_name)
    return {};
  std::error_code code;
  const fs::path file = fs::canonical(map->l_name, code);
  return code ? fs::path() : file;
}

}  // namespace

fs::path installed_plugins() {
  const fs::path library = own_library();
  return library.empty() ? install_folder() : library.parent_path() / "baleen/plugins";
}

fs::path lua_library() {
  const fs::path library = own_library(), below = "share/baleen/lua";
  std::error_code code;
  fs::path folder = library.empty() ? fs::read_symlink("/proc/self/exe", code).parent_path() : library.parent_path();
  // The library's folder is one below the prefix, or two where each architecture has its own.
  if (!library.empty() && !fs::is_directory(folder.parent_path() / below, code)) folder = folder.parent_path();
  return folder.parent_path() / below;
}

}  // namespace baleen::app

/// \file Where the engine is installed, and what lies beside it. Nothing of it is written into the program, so that an
/// installation can be moved.
#pragma once
#include <filesystem>

namespace baleen::app {

/// The folder of plugins: `lib/baleen/plugins` of the prefix that the program or the engine's library lies in.
std::filesystem::path installed_plugins();
/// The folder that holds `baleen/init.lua`: `share/baleen/lua` of the prefix.
std::filesystem::path lua_library();

}  // namespace baleen::app

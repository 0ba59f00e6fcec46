/// \file Kinds of ops out of a built library, without a compiler around them.
#pragma once
#include <dlfcn.h>

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "baleen/op_kind.h"
#include "baleen/plugin.hpp"
#include "baleen/start.h"

namespace baleen::test {

/// The table of a library of ops, opened once; without kinds where there is no such file. Throws where it does not
/// start.
inline const baleen_ops_t& op_library(const std::string& path) {
  static std::map<std::string, baleen_ops_t> opened;
  const auto [found, is_new] = opened.try_emplace(path);
  baleen_ops_t& ops = found->second;
  if (!is_new || !std::filesystem::exists(path)) return ops;
  static baleen_host_t host{sizeof host,
                            nullptr,
                            [](void*, baleen_level_t, baleen_string_t) {},
                            [](void*, baleen_status_t status, baleen_string_t) { return status; },
                            [](void*, baleen_string_t) -> const void* { return nullptr; },
                            abi(std::string_view("op"))};
  ops.size = sizeof ops;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  const auto start = reinterpret_cast<baleen_plugin_start_t>(dlsym(library, BALEEN_START_SYMBOL));
  if (!start || start(&host, &ops) != BALEEN_OK) throw std::runtime_error(path + " does not start");
  return ops;
}

/// Null where the library or the kind is not there.
inline const baleen_op_kind_t* kind_of_library(const std::string& path, std::string_view name) {
  const baleen_ops_t& table = op_library(path);
  for (std::uint64_t i = 0; table.kind; ++i) {
    const baleen_op_kind_t* kind = table.kind(i);
    if (!kind || view(kind->name) == name) return kind;
  }
  return nullptr;
}

}  // namespace baleen::test

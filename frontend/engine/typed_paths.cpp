/// \file Compares option values with what was typed.
#include "frontend/engine/typed_paths.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace baleen::app {
namespace {

bool is_typed(std::string_view value, std::string_view argument) {
  if (argument == value) return true;
  const std::size_t equals = argument.find('=');
  return argument.starts_with("--") && equals != std::string_view::npos && argument.substr(equals + 1) == value;
}

/// Calls `use` with each path among the values.
template <class Values, class Use>
void for_each_path(Values& values, const Descriptor& descriptor, const Use& use) {
  for (auto& [name, value] : values) {
    const Option* option = descriptor.find(name);
    if (!option || !option->path()) continue;
    const auto is_word = [&](const std::string& text) { return std::ranges::count(option->choices, text) > 0; };
    if (auto* text = std::get_if<std::string>(&value.data); text && !is_word(*text)) use(*text);
    if (auto* list = std::get_if<std::vector<std::string>>(&value.data)) std::for_each(list->begin(), list->end(), use);
  }
}

}  // namespace

std::vector<std::string> paths_of(const UserValues& values, const Descriptor& descriptor, const std::string& folder) {
  std::vector<std::string> paths;
  for_each_path(values, descriptor, [&](const std::string& path) {
    if (!path.empty()) paths.push_back((std::filesystem::path(folder) / path).string());
  });
  return paths;
}

void anchor_typed_paths(UserValues& values, const Descriptor& descriptor, const std::vector<std::string>& script_args) {
  const auto anchor = [&](std::string& path) {
    const bool typed = std::any_of(script_args.begin(), script_args.end(),
                                   [&](const std::string& argument) { return is_typed(path, argument); });
    if (!typed || path.empty()) return;
    std::error_code code;
    const auto absolute = std::filesystem::absolute(path, code);
    if (!code) path = absolute.lexically_normal().string();
  };
  for_each_path(values, descriptor, anchor);
}

}  // namespace baleen::app

/// \file New lists of variables in the place of old ones, which are kept.
#include "environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string_view>

namespace baleen::nccl {

void set_variables(const std::vector<std::pair<std::string, std::string>>& variables) {
  static std::mutex mutex;
  // Never destroyed: the environment is read after this plugin's end, too.
  static auto& texts = *new std::deque<std::string>;
  static auto& lists = *new std::deque<std::vector<char*>>;

  const std::lock_guard lock(mutex);
  std::vector<char*> list;
  for (char** one = environ; one && *one; ++one) list.push_back(*one);
  bool changed = false;
  for (const auto& [name, value] : variables) {
    const std::string text = name + "=" + value;
    const std::string_view beginning(text.data(), name.size() + 1);
    const auto found =
        std::ranges::find_if(list, [&](const char* one) { return std::string_view(one).starts_with(beginning); });
    if (found != list.end() && text == *found) continue;
    changed = true;
    if (found != list.end()) list.erase(found);
    list.push_back(texts.emplace_back(text).data());
  }
  if (!changed) return;
  list.push_back(nullptr);
  std::atomic_ref(environ).store(lists.emplace_back(std::move(list)).data(), std::memory_order_release);
}

}  // namespace baleen::nccl

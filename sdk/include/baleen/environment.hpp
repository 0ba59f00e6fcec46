/// \file Variables of this process's environment, set while other threads may read it. By the compilers' builtins:
/// libc++ 14 has no std::atomic_ref.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace baleen::sdk {

/// Sets each variable that has not this value yet. glibc before 2.41 gives back the list of variables that `setenv`
/// has outgrown, though another thread's `getenv` may be reading it. Here a new list takes the place of the old one,
/// which stays for as long as the process lives. [any thread; not beside another's `setenv`]
inline void set_variables(const std::vector<std::pair<std::string, std::string>>& variables) {
  static std::mutex mutex;
  // Never destroyed: the environment is read after a plugin's end, too.
  static auto& texts = *new std::deque<std::string>;
  static auto& lists = *new std::deque<std::vector<char*>>;

  const std::lock_guard lock(mutex);
  char** before = __atomic_load_n(&environ, __ATOMIC_ACQUIRE);
  bool done = false;
  while (!done) {  // another plugin has lists of its own
    std::vector<char*> list;
    for (char** one = before; one && *one; ++one) list.push_back(*one);
    bool changed = false;
    for (const auto& [name, value] : variables) {
      const std::string text = name + "=" + value;
      const std::string_view beginning(text.data(), name.size() + 1);
      const auto begins_so = [&](const char* one) { return std::string_view(one).starts_with(beginning); };
      const auto found = std::find_if(list.begin(), list.end(), begins_so);
      if (found != list.end() && text == *found) continue;
      changed = true;
      if (found != list.end()) list.erase(found);
      list.push_back(texts.emplace_back(text).data());
    }
    if (!changed) return;
    list.push_back(nullptr);
    char** const after = lists.emplace_back(std::move(list)).data();
    done = __atomic_compare_exchange_n(&environ, &before, after, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  }
}

/// Sets a variable that the user has not set.
inline void set_where_unset(const std::string& name, const std::string& value) {
  if (!std::getenv(name.c_str())) set_variables({{name, value}});
}

}  // namespace baleen::sdk

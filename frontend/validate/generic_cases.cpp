/// \file What is true of a plugin of any kind: its file, its start, its options, and what `create` gives.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "baleen/host.h"
#include "baleen/host.hpp"
#include "core/plugin/kinds.hpp"
#include "frontend/validate/cases.hpp"
#include "frontend/validate/option_trials.hpp"
#include "frontend/validate/short_uses.hpp"
#include "frontend/validate/symbols.hpp"

namespace baleen::validate {
namespace {

/// Any table as `create` begins it.
struct CreatingTable {
  std::uint64_t size;
  baleen_status_t (*create)(const baleen_host_t*, const baleen_settings_t*, void**);
  void (*destroy)(void*);
};

/// Kinds whose `create` takes the host and settings, and no more.
bool is_made_of_settings(std::string_view kind) {
  return kind == "optimizer" || kind == "data" || kind == "monitor" || kind == "compute";
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i > 0 ? ", `" : "`") + names[i] + "`";
  if (names.size() > kMost) text += " and " + std::to_string(names.size() - kMost) + " more";
  return text;
}

Symbols symbols_of(const Subject& subject) {
  Result<Symbols> symbols = read_symbols(subject.descriptor.file);
  if (!symbols) throw Failure(symbols.error().text());
  return *std::move(symbols);
}

void exports_one_symbol(const Subject& subject, Mark&) {
  std::vector<std::string> others = symbols_of(subject).exported;
  if (std::erase(others, BALEEN_START_SYMBOL) == 0) throw Failure("exports no `" BALEEN_START_SYMBOL "`");
  if (!others.empty())
    throw Failure("exports " + std::to_string(others.size()) + " symbols beside `" BALEEN_START_SYMBOL "`: " +
                  listed(others) + "; build it with baleen_add_plugin, or with -fvisibility=hidden and plugin.map");
}

void imports_nothing_of_the_core(const Subject& subject, Mark&) {
  const Symbols symbols = symbols_of(subject);
  std::vector<std::string> wrong;
  for (const std::string& name : symbols.imported)
    if (name.starts_with("_Z") && name.find("6baleen") != std::string::npos) wrong.push_back(name);
  for (const std::string& library : symbols.libraries)
    if (library.starts_with("libbaleen")) wrong.push_back(library);
  if (!wrong.empty())
    throw Failure("wants what no host gives to plugins: " + listed(wrong) + "; include the SDK's headers alone");
}

void starts(const Subject& subject, Mark& mark) { const Opened opened(subject, mark); }

/// A host for a start alone.
struct StartHost {
  explicit StartHost(std::string_view kind) : table{sizeof table, this, &log, &fail, &query, abi(kind)} {}

  static void log(void*, baleen_level_t, baleen_string_t) {}
  static baleen_status_t fail(void* self, baleen_status_t status, baleen_string_t text) {
    static_cast<StartHost*>(self)->reason = view(text);
    return status;
  }
  static const void* query(void*, baleen_string_t) { return nullptr; }

  std::string reason;
  baleen_host_t table;
};

/// Memory for a table of any size, with a pattern that shows what is written.
class TableRoom {
 public:
  explicit TableRoom(std::uint64_t size) {
    bytes_.fill(kFilled);
    std::memcpy(bytes_.data(), &size, sizeof size);
  }
  void* get() { return bytes_.data(); }
  std::uint64_t size() const {
    std::uint64_t size = 0;
    std::memcpy(&size, bytes_.data(), sizeof size);
    return size;
  }
  bool is_whole_behind(std::uint64_t size) const {
    return std::all_of(bytes_.begin() + static_cast<std::ptrdiff_t>(size), bytes_.end(),
                       [](unsigned char byte) { return byte == kFilled; });
  }

 private:
  static constexpr unsigned char kFilled = 0xab;
  alignas(std::max_align_t) std::array<unsigned char, 1024> bytes_;
};

baleen_status_t start_by_hand(const Subject& subject, Mark& mark, StartHost& host, TableRoom& room) {
  mark.set("loading the library");
  void* const library = ::dlopen(subject.descriptor.file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw Failure(std::string("cannot be loaded: ") + ::dlerror());
  const auto start = reinterpret_cast<baleen_plugin_start_t>(::dlsym(library, BALEEN_START_SYMBOL));
  if (!start) throw Failure("exports no `" BALEEN_START_SYMBOL "`");
  mark.set("`" BALEEN_START_SYMBOL "`");
  try {
    return start(&host.table, room.get());
  } catch (...) {
    throw Failure("throws an exception out of `" BALEEN_START_SYMBOL "`");
  }
}

void start_with_table_of(const Subject& subject, Mark& mark, std::uint64_t size) {
  StartHost host(subject.descriptor.kind);
  TableRoom room(size);
  if (start_by_hand(subject, mark, host, room) != BALEEN_OK) throw Failure("refuses to start: " + host.reason);
  const std::string told = "told that the table has " + std::to_string(size) + " bytes, ";
  if (!room.is_whole_behind(size)) throw Failure(told + "it wrote behind them; use baleen_give_table (start.h)");
  if (room.size() < sizeof(std::uint64_t) || room.size() > size)
    throw Failure(told + "it says that it wrote " + std::to_string(room.size()));
  if (!room.is_whole_behind(room.size()))
    throw Failure(told + "it says that it wrote " + std::to_string(room.size()) + " and wrote more");
}

void starts_with_a_smaller_table(const Subject& subject, Mark& mark) {
  const Kind& kind = *find_kind(subject.descriptor.kind);
  start_with_table_of(subject, mark, kind.table_size - sizeof(void*));
  start_with_table_of(subject, mark, sizeof(std::uint64_t) + sizeof(void*));
}

void starts_with_a_larger_table(const Subject& subject, Mark& mark) {
  start_with_table_of(subject, mark, find_kind(subject.descriptor.kind)->table_size + 8 * sizeof(void*));
}

void refuses_another_kind(const Subject& subject, Mark& mark) {
  constexpr int kSinceMinor = 2;
  if (subject.descriptor.abi_minor < kSinceMinor) throw Skip("the host says what kind it means since ABI 1.2");
  const std::string other = subject.descriptor.kind == "monitor" ? "optimizer" : "monitor";
  StartHost host(other);
  TableRoom room(find_kind(other)->table_size);
  if (start_by_hand(subject, mark, host, room) == BALEEN_OK)
    throw Failure("starts where the host means a plugin of kind `" + other + "`; use baleen_give_table (start.h)");
  if (host.reason.empty()) throw Failure("refuses another kind without a reason");
}

void needs_plain_create(const Subject& subject) {
  if (!is_made_of_settings(subject.descriptor.kind))
    throw Skip("members of this kind are made from more than settings; trainings make them");
}

void creates(const Subject& subject, Mark& mark) {
  needs_plain_create(subject);
  const Opened opened(subject, mark);
  const SettingsStorage settings = settings_of(subject);
  needs_device(subject, opened, settings.get());
  const Made<CreatingTable> made(opened, settings.get());
}

void creates_two(const Subject& subject, Mark& mark) {
  needs_plain_create(subject);
  if (subject.descriptor.kind == "monitor") throw Skip("two monitors may not share what they write");
  const Opened opened(subject, mark);
  const SettingsStorage settings = settings_of(subject);
  needs_device(subject, opened, settings.get());
  auto first = std::make_unique<Made<CreatingTable>>(opened, settings.get());
  const Made<CreatingTable> second(opened, settings.get());
  first.reset();
}

/// Static objects of the plugin are destroyed too.
void ends_in_good_order(const Subject& subject, Mark& mark) {
  {
    const Opened opened(subject, mark);
    if (is_made_of_settings(subject.descriptor.kind)) {
      const SettingsStorage settings = settings_of(subject);
      needs_device(subject, opened, settings.get());
      const Made<CreatingTable> made(opened, settings.get());
    }
  }
  mark.set("the end of the process, when static objects are destroyed");
  mark.exit_afterwards();
}

void refused(const Subject& subject, const UserValues& values, const std::string& what) {
  if (SettingsStorage::build(subject.descriptor, values, {})) throw Failure("its schema lets in " + what);
}

void schema_refuses(const Subject& subject, Mark&) {
  UserValues unknown = subject.values;
  unknown.insert_or_assign("no_such_option", UserValue{std::int64_t{1}, "validate"});
  refused(subject, unknown, "an option that it does not have");
  for (const Option& option : subject.descriptor.options) {
    if (option.required()) {
      UserValues without = subject.values;
      without.erase(option.name);
      refused(subject, without, "settings without `" + option.name + "`, which is required");
    }
    UserValues wrong = subject.values;
    const bool is_number = option.type != BALEEN_OPTION_STRING && option.type != BALEEN_OPTION_TABLE;
    UserValue::Data data = is_number ? UserValue::Data(std::string("no number")) : UserValue::Data(true);
    wrong.insert_or_assign(option.name, UserValue{std::move(data), "validate"});
    refused(subject, wrong, "another type for `" + option.name + "`");
    if (!option.has_range() || option.type == BALEEN_OPTION_STRING || option.type == BALEEN_OPTION_BOOL) continue;
    wrong.insert_or_assign(option.name, UserValue{option.maximum * 2 + 1, "validate"});
    refused(subject, wrong, "a number above the maximum of `" + option.name + "`");
  }
}

/// Whatever the schema allows is either taken or refused with a reason; what is taken can be used.
void tries_option(const Subject& subject, Mark& mark, const Option& option) {
  if (subject.descriptor.kind == "strategy") return tries_option_of_strategy(subject, mark, option);
  needs_plain_create(subject);
  const std::vector<UserValue> trials = trials_of(option);
  if (trials.empty()) throw Skip("it names other plugins");
  const Opened opened(subject, mark);
  for (const UserValue& trial : trials) {
    Subject changed = subject;
    changed.values.insert_or_assign(option.name, trial);
    changed.folder = subject.scratch.string();
    // The core may refuse it: other options forbid it, or it is no path.
    if (!SettingsStorage::build(changed.descriptor, changed.values, {1, changed.folder, "--set"})) continue;
    const std::string value = option.name + " = " + trial.text().substr(0, 80);
    try {
      use_shortly(changed, opened, "`create` with " + value);
    } catch (const Failure& failure) {
      throw Failure("with " + value + ": " + failure.what());
    }
  }
}

}  // namespace

void needs_device(const Subject& subject, const Opened& opened, const baleen_settings_t* settings) {
  if (subject.descriptor.kind != "compute") return;
  void* handle = nullptr;
  const CreatingTable& table = opened.table<CreatingTable>();
  const baleen_status_t status = opened.call("`create`", table.create, opened.host(), settings, &handle);
  if (status == BALEEN_UNSUPPORTED || status == BALEEN_NOT_FOUND)
    throw Skip(opened.refusal("`create`", status).message);
  if (status == BALEEN_OK && handle) opened.call("`destroy`", table.destroy, handle);
}

std::vector<Case> generic_cases(const Subject& subject) {
  std::vector<Case> all = {
      {"file.symbols", "exports its start function and nothing else", &exports_one_symbol},
      {"file.imports", "wants nothing of the core's insides", &imports_nothing_of_the_core},
      {"start.runs", "loads, starts and fills its table", &starts},
      {"start.smaller_host", "writes no more than a host with a smaller table knows", &starts_with_a_smaller_table},
      {"start.larger_host", "says how much it wrote to a host with a larger table", &starts_with_a_larger_table},
      {"start.other_kind", "does not start as another kind", &refuses_another_kind},
      {kCreateCase, "makes a member, and ends it", &creates},
      {"create.twice", "makes two members that live at once", &creates_two, true},
      {"create.end_of_process", "the process ends well after it", &ends_in_good_order, true},
      {"options.refused", "its schema refuses what is missing, unknown, of another type or out of range",
       &schema_refuses},
  };
  for (const Option& option : subject.descriptor.options) {
    all.push_back({"options." + option.name,
                   "takes or refuses, with a reason, each value at the limits of the schema, and bears it",
                   [option](const Subject& each, Mark& mark) { tries_option(each, mark, option); }});
    if (subject.descriptor.kind != "strategy") continue;
    for (const std::string& word : option.choices)
      all.push_back({"options." + option.name + "." + word,
                     "trains on 2 ranks as one rank does, or the plan is refused",
                     [=](const Subject& each, Mark& mark) { trains_with_word(each, mark, option, word); }});
  }
  return all;
}

}  // namespace baleen::validate

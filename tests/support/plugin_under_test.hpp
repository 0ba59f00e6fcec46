/// \file A plugin as tests drive it, through the C ABI alone: its descriptor from the file, its table from dlopen, a
/// host that remembers what it was told, and settings built from the plugin's own schema.
#pragma once
#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "baleen/plugin.hpp"
#include "support/places.hpp"

namespace baleen::test {

/// A host that keeps failures and log lines. [any thread]
class TestHost {
 public:
  const baleen_host_t* get() const { return &host_; }
  /// The text of this thread's last failure; of any, where it has had none.
  std::string failure() const {
    std::lock_guard lock(mutex_);
    const auto own = failures_.find(std::this_thread::get_id());
    return own == failures_.end() ? failure_ : own->second;
  }
  std::vector<std::string> logged() const {
    std::lock_guard lock(mutex_);
    return logged_;
  }

 private:
  static baleen_status_t fail(void* self, baleen_status_t status, baleen_string_t text) {
    auto& host = *static_cast<TestHost*>(self);
    std::lock_guard lock(host.mutex_);
    host.failure_ = view(text);
    host.failures_[std::this_thread::get_id()] = host.failure_;
    return status;
  }
  static void log(void* self, baleen_level_t, baleen_string_t text) {
    auto& host = *static_cast<TestHost*>(self);
    std::lock_guard lock(host.mutex_);
    host.logged_.emplace_back(view(text));
  }

  static const void* query(void*, baleen_string_t name);

  mutable std::mutex mutex_;
  std::string failure_;
  std::map<std::thread::id, std::string> failures_;
  std::vector<std::string> logged_;
  baleen_host_t host_ = {sizeof(baleen_host_t), this, &log, &fail, &query, {nullptr, 0}};
};

/// The descriptor in an ELF file's note. Throws where there is none.
inline baleen_descriptor_t read_descriptor(const std::string& path) {
  // Only what is looked at: a plugin may have megabytes.
  std::ifstream file(path, std::ios::binary);
  const auto read = [&](std::size_t at, void* to, std::size_t bytes) {
    file.seekg(static_cast<std::streamoff>(at));
    if (!file.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes)))
      throw std::runtime_error(path + ": cut short");
  };
  const auto take = [&](std::size_t at, auto& out) { read(at, &out, sizeof(out)); };
  Elf64_Ehdr elf{};
  take(0, elf);
  Elf64_Shdr names{};
  take(elf.e_shoff + elf.e_shstrndx * sizeof(Elf64_Shdr), names);
  for (std::size_t i = 0; i < elf.e_shnum; ++i) {
    Elf64_Shdr section{};
    take(elf.e_shoff + i * sizeof(section), section);
    std::array<char, sizeof(BALEEN_NOTE_SECTION)> name{};
    take(names.sh_offset + section.sh_name, name);
    if (std::strncmp(name.data(), BALEEN_NOTE_SECTION, name.size()) != 0) continue;
    baleen_note_t note{};
    take(section.sh_offset, note);
    return note.descriptor;
  }
  throw std::runtime_error(path + ": no note " BALEEN_NOTE_SECTION);
}

/// Options of a schema: defaults, then what `set` changed. Throws on an unknown name, as the core refuses it.
class TestSettings {
 public:
  explicit TestSettings(const baleen_descriptor_t& descriptor, std::string folder = "/", std::uint64_t seed = 1)
      : folder_(std::move(folder)) {
    for (const baleen_option_t& option : descriptor.options) {
      if (!option.name[0]) break;
      texts_.emplace_back(option.name);
      baleen_setting_t item{};
      item.name = abi(texts_.back());
      item.type = option.type;
      items_.push_back(item);
      assign(items_.back(), option.default_value);
    }
    settings_ = {sizeof(baleen_settings_t), items_.size(), items_.data(), seed, abi(folder_), 0, 1};
  }
  TestSettings(const TestSettings&) = delete;

  /// As a user would write it; a MANY option's entries are joined by line breaks.
  TestSettings& set(std::string_view name, const std::string& text) {
    assign(find(name), text);
    return *this;
  }
  TestSettings& set(std::string_view name, const char* text) { return set(name, std::string(text)); }
  TestSettings& set(std::string_view name, double number) {
    baleen_setting_t& item = find(name);
    item.number = number;
    item.integer = static_cast<std::int64_t>(number);
    return *this;
  }
  /// The graph's value of a SCHEDULE option.
  TestSettings& set_value(std::string_view name, std::uint32_t value) {
    find(name).value = value;
    return *this;
  }
  TestSettings& set_table(std::string_view name, std::vector<double> numbers, std::int64_t columns) {
    tables_.push_back(std::move(numbers));
    baleen_setting_t& item = find(name);
    item.table = tables_.back().data();
    item.columns = columns;
    item.rows = static_cast<std::int64_t>(tables_.back().size()) / columns;
    return *this;
  }
  TestSettings& seed(std::uint64_t seed) {
    settings_.seed = seed;
    return *this;
  }
  const baleen_settings_t* get() const { return &settings_; }

 private:
  baleen_setting_t& find(std::string_view name) {
    for (baleen_setting_t& item : items_)
      if (view(item.name) == name) return item;
    throw std::invalid_argument("the schema has no option " + std::string(name));
  }
  void assign(baleen_setting_t& item, const std::string& text) {
    texts_.push_back(text);
    item.text = abi(texts_.back());
    if (item.type == BALEEN_OPTION_BOOL) item.integer = text == "true";
    if (item.type == BALEEN_OPTION_INT) item.integer = std::strtoll(text.c_str(), nullptr, 10);
    if (item.type == BALEEN_OPTION_FLOAT || item.type == BALEEN_OPTION_SCHEDULE)
      item.number = std::strtod(text.c_str(), nullptr);
  }

  std::string folder_;
  std::deque<std::string> texts_;  // addresses stay
  std::deque<std::vector<double>> tables_;
  std::vector<baleen_setting_t> items_;
  baleen_settings_t settings_{};
};

/// A loaded plugin of kind table `Table`. Stays loaded until the process ends.
template <class Table>
class PluginUnderTest {
 public:
  explicit PluginUnderTest(const std::string& path) : descriptor(read_descriptor(path)) {
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(::dlerror());
    const auto start = reinterpret_cast<baleen_plugin_start_t>(::dlsym(library, BALEEN_START_SYMBOL));
    if (!start) throw std::runtime_error(path + ": no " BALEEN_START_SYMBOL);
    table.size = sizeof(Table);
    if (start(host->get(), &table) != BALEEN_OK) throw std::runtime_error(path + ": " + host->failure());
  }

  baleen_descriptor_t descriptor;
  std::unique_ptr<TestHost> host = std::make_unique<TestHost>();
  Table table{};
};

/// A plugin that another one uses, as this host opens it (baleen_host_open_t): by the path of its file.
struct MemberUnderTest : baleen_member_t {
  struct AnyTable {
    std::uint64_t size;
    void* functions[63];
  };

  MemberUnderTest(const std::string& path, const std::vector<std::pair<std::string, std::string>>& options)
      : baleen_member_t{}, plugin(path), values(plugin.descriptor) {
    for (const auto& [name, text] : options) values.set(name, text);
    *static_cast<baleen_member_t*>(this) = {sizeof(baleen_member_t), abi(plugin.descriptor.name), &plugin.table,
                                            plugin.host->get(), values.get()};
  }

  PluginUnderTest<AnyTable> plugin;
  TestSettings values;

  /// Reads a name and lines "option=value"; entries of a list are joined as plugins get them.
  static std::unique_ptr<MemberUnderTest> read(std::string_view text) {
    std::vector<std::pair<std::string, std::string>> options;
    const std::string path(text.substr(0, text.find('\n')));
    for (std::size_t at = path.size(); at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at + 1), text.size());
      const std::string line(text.substr(at + 1, end - at - 1));
      const std::string name = line.substr(0, line.find('=')), value = line.substr(line.find('=') + 1);
      const bool more = !options.empty() && options.back().first == name;
      if (more)
        options.back().second += '\n' + value;
      else
        options.emplace_back(name, value);
      at = end;
    }
    return std::make_unique<MemberUnderTest>(path, options);
  }
};

inline const void* TestHost::query(void*, baleen_string_t name) {
  static const baleen_host_open_t open = {
      sizeof(baleen_host_open_t),
      [](void* self, baleen_string_t, baleen_string_t text, const baleen_settings_t*, const baleen_member_t** member) {
        return guard(Host(static_cast<TestHost*>(self)->get()), [&]() -> Status {
          *member = MemberUnderTest::read(view(text)).release();
          return {};
        });
      },
      [](void*, const baleen_member_t* member) { delete static_cast<const MemberUnderTest*>(member); },
      [](void*, const baleen_member_t* member, baleen_status_t) {
        thread_local std::string text;
        text = static_cast<const MemberUnderTest*>(member)->plugin.host->failure();
        return abi(text);
      }};
  return view(name) == BALEEN_HOST_OPEN ? &open : nullptr;
}

/// The path of a built plugin.
inline std::string built_plugin(const std::string& kind, const std::string& name) {
  return build_dir() + "/lib/baleen/plugins/baleen_" + kind + "_" + name + ".so";
}

}  // namespace baleen::test

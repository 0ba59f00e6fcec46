/// \file Opens libraries through Boost.DLL, and keeps them open.
#include "core/plugin/plugin.hpp"

#define BOOST_DLL_USE_STD_FS
#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <boost/dll/shared_library.hpp>
#include <boost/version.hpp>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/plugin/crash.hpp"
#include "core/plugin/host.hpp"

namespace baleen {
namespace {

constexpr std::size_t kTableRoom = 512;

/// Whether there is no room for the file in this process's memory: the system's loader says that it could not map it,
/// and not why.
bool memory_is_short(const std::filesystem::path& file) {
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(file, unknown);
  if (unknown) return false;
  constexpr std::size_t kMore = 4 << 20;  // data that the file does not hold, and libraries that it needs
  void* const room = mmap(nullptr, bytes + kMore, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return errno == ENOMEM;
  munmap(room, bytes + kMore);
  return false;
}

}  // namespace

struct Plugin::Loaded {
  Loaded(const Descriptor& d, const Log& log, std::shared_ptr<const MemberOpener> opener)
      : descriptor(d), host(title_of(d), d.kind, log, std::move(opener)) {}

  Status load();
  Status start();
  Status check_table() const;
  Error error(const std::string& why) const {
    return invalid("plugin " + host.name() + " " + why, descriptor.file.string());
  }

  Descriptor descriptor;
  HostTable host;
  boost::dll::shared_library library;
  alignas(std::max_align_t) std::array<std::byte, kTableRoom> table{};
  bool started = false;
};

/// Every library that was ever opened, for the life of the process: the ABI promises plugins that the host outlives
/// them, and they are never unloaded. So this is never destroyed.
struct PluginStore {
  std::mutex mutex;
  std::vector<std::unique_ptr<Plugin::Loaded>> opened;

  static PluginStore& get() {
    static PluginStore& store = *new PluginStore;
    return store;
  }
};

Status Plugin::Loaded::load() {
  using boost::dll::load_mode::rtld_local;
  using boost::dll::load_mode::rtld_now;
  std::error_code code;
  {
    const LoadingCode is_loading(host.name().c_str());
    // What a static object throws passes through the system's loader, which holds locks: nothing can go on. A compiler
    // may take dlopen for a function that never throws; then the handler of terminate is called.
    try {
      library.load(descriptor.file, rtld_now | rtld_local, code);
    } catch (...) {
      LoadingCode::refuse();
    }
  }
  if (!code) {
    name_code(library.native(), host.name().c_str());
    return {};
  }
  const char* reason = dlerror();
  Error refused = error("cannot be loaded: " + (reason ? std::string(reason) : code.message()));
  if (memory_is_short(descriptor.file)) {
    refused.code = BALEEN_NO_MEMORY;
    refused.message += "; the process is out of memory";
  }
  return refused;
}

Status Plugin::Loaded::start() {
  if (!library.has(BALEEN_START_SYMBOL)) return error("exports no `" BALEEN_START_SYMBOL "`");
  const auto function = &library.get<std::remove_pointer_t<baleen_plugin_start_t>>(BALEEN_START_SYMBOL);
  std::memcpy(table.data(), &find_kind(descriptor.kind)->table_size, sizeof(std::uint64_t));
  baleen_status_t status = BALEEN_INTERNAL;
  try {
    status = function(host.get(), table.data());
  } catch (const std::exception& e) {
    return error("threw an exception out of `" BALEEN_START_SYMBOL "`: " + std::string(e.what()));
  } catch (...) {  // also what another C++ runtime throws
    return error("threw an exception out of `" BALEEN_START_SYMBOL "`");
  }
  if (status != BALEEN_OK) {
    Error reason = host.failure(status);
    return Error{reason.code, "plugin " + reason.message, descriptor.file.string()};
  }
  return check_table();
}

Status Plugin::Loaded::check_table() const {
  const Kind& kind = *find_kind(descriptor.kind);
  std::uint64_t size = 0;
  std::memcpy(&size, table.data(), sizeof size);
  if (size < sizeof size || size > kind.table_size)
    return error("says that its table has " + std::to_string(size) + " bytes; the kind's has " +
                 std::to_string(kind.table_size));
  const std::byte* at = table.data() + sizeof size;
  for (const TableFunction& one : kind.functions) {
    void* function = nullptr;
    std::memcpy(&function, at, sizeof function);
    at += sizeof function;
    if (!function && !one.may_be_null)
      return error("left the function `" + std::string(one.name) + "` of its table empty (see baleen/" +
                   (descriptor.kind == "op" ? "op_kind" : descriptor.kind) + ".h)");
  }
  return {};
}

Result<Plugin> Plugin::open(const Descriptor& descriptor, const Log& log, std::shared_ptr<const MemberOpener> opener) {
  const Kind* kind = find_kind(descriptor.kind);
  if (!kind || kind->table_size > kTableRoom) return internal("no table for kind `" + descriptor.kind + "`");
  PluginStore& store = PluginStore::get();
  const std::lock_guard lock(store.mutex);
  for (const auto& loaded : store.opened)
    if (loaded->started && loaded->descriptor.file == descriptor.file) return Plugin(loaded.get());
  Loaded& loaded = *store.opened.emplace_back(std::make_unique<Loaded>(descriptor, log, std::move(opener)));
  BALEEN_TRY(loaded.load());
  BALEEN_TRY(loaded.start());
  loaded.started = true;
  log.debug("opened " + title_of(descriptor) + " from " + descriptor.file.string());
  return Plugin(&loaded);
}

std::string_view Plugin::library() { return "Boost.DLL " BOOST_LIB_VERSION; }

const Descriptor& Plugin::descriptor() const { return loaded_->descriptor; }
const baleen_host_t* Plugin::host() const { return loaded_->host.get(); }
Error Plugin::failure(baleen_status_t status) const { return loaded_->host.failure(status); }
void Plugin::forget_failure() const { HostTable::forget(); }
Status Plugin::check_told() const { return loaded_->host.told(); }

const void* Plugin::any_table() const { return loaded_->table.data(); }

Result<const void*> Plugin::raw_table(std::string_view kind, std::uint64_t size) const {
  const Descriptor& descriptor = loaded_->descriptor;
  if (kind != descriptor.kind || size != find_kind(kind)->table_size)
    return internal("the table of " + title_of(descriptor) + " was asked for as one of kind `" + std::string(kind) +
                    "`");
  return static_cast<const void*>(loaded_->table.data());
}

}  // namespace baleen

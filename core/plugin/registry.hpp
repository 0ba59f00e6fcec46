/// \file The plugins that were found: which there are, and which one a user means.
#pragma once
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/result.hpp"
#include "core/log/log.hpp"
#include "core/plugin/descriptor.hpp"
#include "core/plugin/plugin.hpp"

namespace baleen {

class MemberOpener;

/// Where to look: a folder or a library, and the place in the user's input that named it ("--plugin-path",
/// "a.toml:3:9").
struct PluginPlace {
  std::filesystem::path path;
  std::string where;
};

class Registry {
 public:
  /// A library in a searched folder that carries a descriptor we cannot use, or is damaged.
  struct Rejected {
    std::filesystem::path file;
    Error error;
    std::string kind, name;  ///< what it says that it is; empty where that cannot be read
  };

  /// Reads the descriptors of all `*.so` in `places`, in search order; a place is a folder or a library. A place that
  /// does not exist and a library that was named itself but is bad are errors; bad libraries in folders are only
  /// `rejected`. Of two plugins of one kind and name the first found wins, and the log says so.
  static Result<Registry> discover(std::span<const PluginPlace> places, Log log);

  /// Sorted by (kind, name).
  const std::vector<Descriptor>& descriptors() const { return descriptors_; }
  const std::vector<Rejected>& rejected() const { return rejected_; }
  std::vector<std::string> names(std::string_view kind) const;

  /// The member `name` of `kind`. An absolute path is read as a library. Otherwise the error names the nearest
  /// and all known members. `where` is the place in the user's file, for messages.
  Result<Descriptor> find(std::string_view kind, std::string_view name, std::string_view where = {}) const;
  /// The member of the highest score, if that is not negative. Ties: the first by name.
  Result<Descriptor> best(std::string_view kind) const;
  /// The member for files that end in `.extension` (given without the dot), as `best` among those that declare it.
  Result<Descriptor> by_extension(std::string_view kind, std::string_view extension) const;

  /// The plugin may use others of this registry.
  Result<Plugin> open(const Descriptor& descriptor) const { return Plugin::open(descriptor, log_, opener_); }
  const Log& log() const { return log_; }

 private:
  explicit Registry(Log log) : log_(std::move(log)) {}
  Status add_place(const std::filesystem::path& place);
  /// Behind the refusal of a name: the files that it may have been meant to be in.
  std::string refused_files() const;
  Status add_folder(const std::filesystem::path& folder);
  void add(Descriptor descriptor);

  Log log_;
  std::vector<Descriptor> descriptors_;
  std::vector<Rejected> rejected_;
  std::shared_ptr<const MemberOpener> opener_;
};

/// Where plugins lie beside the running program: `../lib/baleen/plugins` from the folder of the executable.
std::filesystem::path install_folder();

}  // namespace baleen

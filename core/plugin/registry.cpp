/// \file Discovery and choice among what was found.
#include "core/plugin/registry.hpp"

#include <algorithm>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/input/nearest.hpp"
#include "core/plugin/elf_note.hpp"
#include "core/plugin/kinds.hpp"
#include "core/plugin/member_opener.hpp"

namespace baleen {
namespace {

namespace fs = std::filesystem;

auto key(const Descriptor& descriptor) { return std::tie(descriptor.kind, descriptor.name); }

fs::path resolved(const fs::path& path) {
  std::error_code code;
  fs::path real = fs::canonical(path, code);
  return code ? path : real;
}

/// The first of the highest, not negative score among those that `accept`; null if none. Order of descriptors: by name.
template <class Accept>
const Descriptor* highest(const std::vector<Descriptor>& descriptors, std::string_view kind, Accept&& accept) {
  const Descriptor* best = nullptr;
  for (const Descriptor& one : descriptors) {
    if (one.kind != kind || one.score < 0 || !accept(one)) continue;
    if (!best || one.score > best->score) best = &one;
  }
  return best;
}

/// Beside the plugins that were found: files of that name, which say that they are others.
std::string misnamed_files(const std::vector<Descriptor>& found, const std::string& file) {
  std::set<fs::path> folders;
  for (const Descriptor& one : found) folders.insert(one.file.parent_path());
  std::string text;
  for (const fs::path& folder : folders)
    if (const Result<Descriptor> one = read_descriptor(folder / file))
      text += "; " + one->file.string() + " says that it is " + one->kind + " `" + one->name + "`";
  return text;
}

Error none_found(std::string_view kind, const std::string& refused) {
  const Kind* known = find_kind(kind);
  return Error{BALEEN_NOT_FOUND,
               "no " + std::string(kind) + " plugin was found; build one (folder " +
                   std::string(known ? known->folder : "?") + ") or name its folder with --plugin-path" + refused,
               {}};
}

}  // namespace

Result<Registry> Registry::discover(std::span<const PluginPlace> places, Log log) {
  Registry registry(std::move(log));
  for (const PluginPlace& place : places)
    if (Status status = registry.add_place(resolved(place.path)); !status)
      return place.where.empty() ? status.error() : Error{status.error().code, status.error().text(), place.where};
  std::ranges::sort(registry.descriptors_, {}, key);
  registry.opener_ = std::make_shared<MemberOpener>(registry);
  return registry;
}

Status Registry::add_place(const fs::path& place) {
  std::error_code code;
  if (fs::is_directory(place, code)) return add_folder(place);
  BALEEN_TRY_ASSIGN(Descriptor descriptor, read_descriptor(place));
  add(std::move(descriptor));
  return {};
}

Status Registry::add_folder(const fs::path& folder) {
  std::error_code code;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code))
    if (entry->path().extension() == ".so")  // the folder is resolved already
      files.push_back(entry->is_symlink(code) ? resolved(entry->path()) : entry->path());
  if (code) return Error{BALEEN_IO, "cannot be listed: " + code.message(), folder.string()};
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    Result<Descriptor> descriptor = read_descriptor(file);
    if (descriptor) {
      add(*std::move(descriptor));
    } else {
      log_.debug("not used: " + descriptor.error().text());
      const ClaimedName claimed = claimed_name(file);
      rejected_.push_back({file, std::move(descriptor).error(), claimed.kind, claimed.name});
    }
  }
  return {};
}

void Registry::add(Descriptor descriptor) {
  const auto same = [&](const Descriptor& other) { return key(other) == key(descriptor); };
  const auto first = std::ranges::find_if(descriptors_, same);
  if (first == descriptors_.end()) {
    descriptors_.push_back(std::move(descriptor));
    return;
  }
  if (first->file != descriptor.file)
    log_.info(descriptor.kind + " `" + descriptor.name + "`: " + first->file.string() + " is used, " +
              descriptor.file.string() + " is hidden by it");
}

std::vector<std::string> Registry::names(std::string_view kind) const {
  std::vector<std::string> names;
  for (const Descriptor& one : descriptors_)
    if (one.kind == kind) names.push_back(one.name);
  return names;
}

Result<Descriptor> Registry::find(std::string_view kind, std::string_view name, std::string_view where) const {
  const std::string place(where);
  if (name.starts_with('/')) {
    Result<Descriptor> named = read_descriptor(resolved(fs::path(name)));
    if (!named) return Error{named.error().code, named.error().text(), place};
    if (named->kind == kind) return named;
    return invalid(std::string(name) + ": wrong kind: it is the " + named->kind + " plugin `" + named->name +
                       "`, and a " + std::string(kind) + " plugin is needed here",
                   place);
  }
  for (const Descriptor& one : descriptors_)
    if (one.kind == kind && one.name == name) return one;
  for (const Descriptor& one : descriptors_)
    if (one.name == name)
      return invalid("wrong kind: `" + one.name + "` is a plugin of kind " + one.kind + ", and a " + std::string(kind) +
                         " plugin is needed here",
                     place);
  const std::string file = "baleen_" + std::string(kind) + "_" + std::string(name) + ".so";
  for (const Rejected& one : rejected_)
    if ((one.name == name && (one.kind == kind || !find_kind(one.kind))) || one.file.filename() == file)
      return Error{one.error.code, one.error.text(), place};
  return Error{BALEEN_NOT_FOUND,
               unknown_word(std::string(kind) + " plugin", name, names(kind)) + misnamed_files(descriptors_, file) +
                   refused_files(),
               place};
}

std::string Registry::refused_files() const {
  constexpr std::size_t kMost = 3;
  std::string text;
  std::size_t count = 0;
  for (const Rejected& one : rejected_)
    if (++count <= kMost) text += (count == 1 ? "; refused: " : "; ") + one.error.text();
  return text + (count > kMost ? "; and " + std::to_string(count - kMost) + " more (`baleen plugins` lists them)" : "");
}

Result<Descriptor> Registry::best(std::string_view kind) const {
  const Descriptor* found = highest(descriptors_, kind, [](const Descriptor&) { return true; });
  if (!found) return none_found(kind, refused_files());
  return *found;
}

Result<Descriptor> Registry::by_extension(std::string_view kind, std::string_view extension) const {
  std::vector<std::string> known;
  for (const Descriptor& one : descriptors_)
    if (one.kind == kind && !one.extension.empty()) known.push_back(one.extension);
  const auto matches = [&](const Descriptor& one) { return one.extension == extension; };
  const Descriptor* found = highest(descriptors_, kind, matches);
  if (!found && known.empty()) return none_found(kind, refused_files());
  if (!found)
    return Error{BALEEN_NOT_FOUND, unknown_word("ending of a " + std::string(kind) + " file", extension, known), {}};
  return *found;
}

fs::path install_folder() {
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code);
  return (program.parent_path().parent_path() / "lib/baleen/plugins").lexically_normal();
}

}  // namespace baleen

/// \file The schema of `checkpoint`.
#include "frontend/checkpoint/settings.hpp"

#include <algorithm>

#include "core/input/nearest.hpp"
#include "core/plugin/option_value.hpp"

namespace baleen {
namespace {

const Descriptor& schema() {
  const auto option = [](const char* name, baleen_option_type_t type, double least, double most) {
    Option made;
    made.name = name;
    made.type = type;
    made.minimum = least;
    made.maximum = most;
    return made;
  };
  static const Descriptor made = [&] {
    Descriptor all;
    all.options = {option("folder", BALEEN_OPTION_STRING, 1, 0),     option("plugin", BALEEN_OPTION_STRING, 1, 0),
                   option("every", BALEEN_OPTION_INT, 0, 1e12),      option("minutes", BALEEN_OPTION_FLOAT, 0, 1e6),
                   option("keep", BALEEN_OPTION_INT, 0, 1e9),        option("best", BALEEN_OPTION_BOOL, 1, 0),
                   option("memory_mb", BALEEN_OPTION_FLOAT, 0, 1e9), option("grace", BALEEN_OPTION_FLOAT, 1, 1e5)};
    return all;
  }();
  return made;
}

}  // namespace

Result<CheckpointSettings> read_checkpoint_settings(const UserValues& values, const std::string& where) {
  CheckpointSettings settings;
  settings.where = where;
  for (const auto& [name, value] : values) {
    const Option* const option = schema().find(name);
    if (!option)
      return invalid("checkpoint: " + unknown_word("option", name, schema().option_names()),
                     value.key_where.empty() ? value.where : value.key_where);
    if (const Status fits = check_option(*option, value); !fits)
      return Error{fits.error().code, "checkpoint: " + fits.error().message, fits.error().where};
    if (name == "folder") settings.folder = std::get<std::string>(value.data);
    if (name == "plugin") settings.plugin = std::get<std::string>(value.data);
    if (name == "every") settings.every = as_integer(value);
    if (name == "minutes") settings.minutes = as_number(value);
    if (name == "keep") settings.keep = as_integer(value);
    if (name == "best") settings.best = as_integer(value) != 0;
    if (name == "memory_mb") settings.memory_bytes = static_cast<std::uint64_t>(as_number(value) * (1 << 20));
    if (name == "grace") settings.grace_seconds = as_number(value);
    if (name == "folder" && settings.folder.empty()) return invalid("checkpoint: `folder` is empty", value.where);
    const auto is_home = [](const std::filesystem::path& part) { return part == "~"; };
    if (name == "folder" && std::any_of(settings.folder.begin(), settings.folder.end(), is_home))
      return invalid("checkpoint: `folder` has the shell's `~` in it, which means nothing here; write the path out",
                     value.where);
  }
  return settings;
}

}  // namespace baleen

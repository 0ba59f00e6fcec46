/// \file What a plugin says about itself, read from its file and checked without opening the library.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/descriptor.h"
#include "baleen/result.hpp"
#include "core/input/user_value.hpp"

namespace baleen {

/// One option of a plugin's schema.
struct Option {
  std::string name;
  baleen_option_type_t type = 0;
  baleen_option_flags_t flags = 0;
  double minimum = 1;
  double maximum = 0;
  std::string default_value;
  std::vector<std::string> choices;
  std::string cli;
  std::string help;

  bool required() const { return flags & BALEEN_OPTION_REQUIRED; }
  bool per_group() const { return flags & BALEEN_OPTION_PER_GROUP; }
  bool many() const { return flags & BALEEN_OPTION_MANY; }
  bool path() const { return flags & BALEEN_OPTION_PATH; }
  bool member() const { return flags & BALEEN_OPTION_MEMBER; }
  bool per_host() const { return flags & BALEEN_OPTION_PER_HOST; }
  bool threads() const;
  bool has_range() const { return minimum <= maximum; }
  /// "bool", "int", "float", "string", "schedule", "table".
  std::string_view type_name() const;
};

/// A plugin that was found. Plain data; the library need not be open.
struct Descriptor {
  std::filesystem::path file;
  std::string kind, name, version, license, summary, extension;
  int abi_major = 0;
  int abi_minor = 0;
  std::uint32_t kind_revision = 0;  ///< of the kind's interface; 0: built against ABI 1.0, which told none
  std::int32_t score = 0;
  std::vector<Option> options;
  std::vector<Option> earlier;  ///< earlier names of some of them: BALEEN_OPTION_EARLIER_NAME

  /// By its name or an earlier one.
  const Option* find(std::string_view option) const;
  /// Puts today's names and words in the place of earlier ones. Fails where an option is given by both.
  Status rename(UserValues& values) const;
  std::vector<std::string> option_names() const;
  /// Options that name other plugins of its kind.
  std::vector<const Option*> member_options() const;
  /// The option that says with how many threads a compute plugin computes; null where there is none.
  const Option* threads_option() const;
};

/// As messages name a plugin: "transport `shm`".
inline std::string title_of(const Descriptor& descriptor) { return descriptor.kind + " `" + descriptor.name + "`"; }

/// Reads and checks the descriptor in `file`. Every kind of bad file has its own message: missing, truncated, not ELF,
/// another architecture, no note, another ABI, a malformed schema. `where` of the error is the file.
Result<Descriptor> read_descriptor(const std::filesystem::path& file);

struct ClaimedName {
  std::string kind, name;
};

/// What a library that was refused says that it is, for messages; empty where that cannot be read.
ClaimedName claimed_name(const std::filesystem::path& file);

/// The same as `read_descriptor` for the bytes of a note section. `file` is for messages.
Result<Descriptor> parse_note(std::span<const std::byte> note, const std::filesystem::path& file);

}  // namespace baleen

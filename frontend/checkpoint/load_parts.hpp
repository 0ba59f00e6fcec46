/// \file Which parameters are taken from a file, and under which names: all, unless the user says otherwise. Pure.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/codegen/executable.hpp"
#include "compiler/plan/plan.hpp"

namespace baleen {

/// What a file calls `from` is the model's `to`. A '*' in `to` is what the '*' of the same number in `from` stood for.
struct LoadRename {
  std::string from, to;
};

/// "FROM=TO". INVALID without either, and where `to` has more '*' than `from`.
Result<LoadRename> parse_rename(const std::string& text);

/// The name that `rename` gives to a tensor of a file; nothing where its `from` does not stand for it.
std::optional<std::string> renamed(const LoadRename& rename, std::string_view name);

/// Patterns are those of baleen/pattern.hpp, and of the model's names but for `allow_extra`'s and those of `from`.
struct LoadParts {
  std::vector<std::string> only;           ///< none: all
  std::vector<std::string> except;         ///< stand above `only`
  std::vector<LoadRename> renames;         ///< the first that fits counts
  std::vector<std::string> allow_missing;  ///< parameters that keep their first values where the file lacks them
  std::vector<std::string> allow_extra;    ///< tensors of the file that are passed over where the model lacks them

  bool says_nothing() const;
  /// Whether the parameter of that name is to be taken.
  bool takes(const std::string& name) const;
  bool may_miss(const std::string& name) const;
  /// `stored`: the name in the file; `name`: as it is renamed.
  bool may_be_extra(const std::string& stored, const std::string& name) const;
  /// The model's name for what the file calls so.
  std::string name_of(const std::string& stored) const;
  /// INVALID, with the option, where a pattern stands for nothing: neither for a parameter of the model nor for a
  /// tensor of the file. `where`: the file, for the message.
  Status check_patterns(const std::vector<std::string>& model, const std::vector<std::string>& stored,
                        const std::string& where) const;
  /// For comparing between ranks; one line, empty where nothing is said.
  std::string text() const;
};

/// A parameter that a file gives.
struct LoadedTensor {
  std::size_t buffer = 0;  ///< number of the parameter in the persistent layout
  std::string stored;      ///< its name in the file
};

/// "`a`, `b`, `c` and 7 more".
std::string listed_names(const std::vector<std::string>& names);

/// Finds what of `stored` the parameters of `persistent` take. INVALID, with the names, `where` and the option that
/// helps, where one is missing, one is left over, or the shapes of two differ.
Result<std::vector<LoadedTensor>> match_parts(const PersistentLayout& persistent,
                                              const std::map<std::string, ValueType>& stored, const LoadParts& parts,
                                              const std::string& where);

}  // namespace baleen

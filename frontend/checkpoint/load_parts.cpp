/// \file Renames, and matching a file's tensors with a model's parameters.
#include "frontend/checkpoint/load_parts.hpp"

#include <algorithm>

#include "baleen/dtype.hpp"
#include "baleen/pattern.hpp"
#include "core/input/nearest.hpp"

namespace baleen {
namespace {

using Names = std::vector<std::string>;

bool matches_any(const Names& patterns, const std::string& name) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches(pattern, name); });
}

/// What stands between the stars.
std::vector<std::string_view> split_at_stars(std::string_view pattern) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t star = pattern.find('*');
    parts.push_back(pattern.substr(0, star));
    if (star == std::string_view::npos) return parts;
    pattern.remove_prefix(star + 1);
  }
}

/// What each star stands for, the first ones for as little as possible. `name` matches.
std::vector<std::string_view> stars_of(std::string_view pattern, std::string_view name) {
  const std::vector<std::string_view> parts = split_at_stars(pattern);
  std::vector<std::string_view> stars;
  std::size_t at = parts.front().size();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string_view part = parts[i];
    std::size_t end = at;
    if (i + 1 == parts.size()) end = name.size() - part.size();
    while (!matches(part, name.substr(end, part.size()))) ++end;
    stars.push_back(name.substr(at, end - at));
    at = end + part.size();
  }
  return stars;
}

std::string near_to(const std::string& name, const Names& known) {
  const auto near = nearest(name, known);
  return near ? "; the nearest name is `" + *near + "`" : "";
}

}  // namespace

std::string listed_names(const Names& names) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i ? ", `" : "`") + names[i] + "`";
  return names.size() > kShown ? text + " and " + std::to_string(names.size() - kShown) + " more" : text;
}

Result<LoadRename> parse_rename(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == std::string::npos || sign == 0 || sign + 1 == text.size())
    return invalid(
        "must be FROM=TO, a name in the file and one of the model, as in encoder.*=body.*; not `" + text + "`",
        "--load-rename");
  LoadRename rename{text.substr(0, sign), text.substr(sign + 1)};
  if (std::ranges::count(rename.to, '*') > std::ranges::count(rename.from, '*'))
    return invalid("`" + rename.to + "` has more `*` than `" + rename.from + "`, from which they are filled",
                   "--load-rename");
  return rename;
}

std::optional<std::string> renamed(const LoadRename& rename, std::string_view name) {
  if (!matches(rename.from, name)) return std::nullopt;
  const std::vector<std::string_view> stars = stars_of(rename.from, name), parts = split_at_stars(rename.to);
  std::string text(parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i) text.append(stars[i - 1]).append(parts[i]);
  return text;
}

bool LoadParts::says_nothing() const {
  return only.empty() && except.empty() && renames.empty() && allow_missing.empty() && allow_extra.empty();
}

bool LoadParts::takes(const std::string& name) const {
  return (only.empty() || matches_any(only, name)) && !matches_any(except, name);
}

bool LoadParts::may_miss(const std::string& name) const { return matches_any(allow_missing, name); }

bool LoadParts::may_be_extra(const std::string& stored, const std::string& name) const {
  return matches_any(allow_extra, stored) || matches_any(allow_extra, name);
}

std::string LoadParts::name_of(const std::string& stored) const {
  for (const LoadRename& rename : renames)
    if (auto name = renamed(rename, stored)) return *std::move(name);
  return stored;
}

Status LoadParts::check_patterns(const Names& model, const Names& stored, const std::string& where) const {
  Names all = model;
  for (const std::string& name : stored) all.push_back(name_of(name));
  const auto check = [&](const char* option, const Names& patterns, const Names& names, const char* what) -> Status {
    for (const std::string& pattern : patterns)
      if (std::ranges::none_of(names, [&](const std::string& name) { return matches(pattern, name); }))
        return invalid(std::string(option) + " " + pattern + " fits " + what + near_to(pattern, names), where);
    return {};
  };
  constexpr const char* kNeither = "neither a parameter of the model nor a tensor of this";
  BALEEN_TRY(check("--load-only", only, all, kNeither));
  BALEEN_TRY(check("--load-except", except, all, kNeither));
  Names from;
  for (const LoadRename& rename : renames) from.push_back(rename.from);
  BALEEN_TRY(check("--load-rename", from, stored, "no tensor of this"));
  BALEEN_TRY(check("--allow-missing", allow_missing, model, "no parameter of the model"));
  all = stored;
  for (const std::string& name : stored) all.push_back(name_of(name));
  return check("--allow-extra", allow_extra, all, "no tensor of this");
}

std::string LoadParts::text() const {
  std::string all;
  const auto add = [&](const char* option, const std::string& value) {
    all += std::string(all.empty() ? "" : " ") + option + " " + value;
  };
  for (const std::string& pattern : only) add("--load-only", pattern);
  for (const std::string& pattern : except) add("--load-except", pattern);
  for (const LoadRename& rename : renames) add("--load-rename", rename.from + "=" + rename.to);
  for (const std::string& pattern : allow_missing) add("--allow-missing", pattern);
  for (const std::string& pattern : allow_extra) add("--allow-extra", pattern);
  return all;
}

namespace {

/// What may be meant by a name that is missing. `free`: names of the file that nobody takes.
std::string meant_by(const std::string& name, const Names& free, const LoadParts& parts) {
  if (std::ranges::find(free, name) == free.end()) return near_to(name, free);
  return "; --load-rename makes `" + parts.name_of(name) +
         "` of the one that is there: FROM is the name in the file, TO "
         "the model's";
}

/// Refuses what the file lacks, and what it has beside. `free`: names of the file that nobody takes.
Status check_names(const Names& missing, const Names& extra, const Names& free, const Names& known,
                   const LoadParts& parts, const std::string& where) {
  if (!missing.empty())
    return invalid("it has no tensor " + listed_names(missing) + meant_by(missing.front(), free, parts) +
                       "; what is called otherwise there: --load-rename FROM=TO; what is to keep its first values: "
                       "--allow-missing PATTERN",
                   where);
  if (!extra.empty())
    return invalid("the model has no parameter " + listed_names(extra) + near_to(parts.name_of(extra.front()), known) +
                       "; what is to be passed over: --allow-extra PATTERN",
                   where);
  return {};
}

}  // namespace

Result<std::vector<LoadedTensor>> match_parts(const PersistentLayout& persistent,
                                              const std::map<std::string, ValueType>& stored, const LoadParts& parts,
                                              const std::string& where) {
  std::map<std::string, std::string> by_name;  // in the file, by the model's names
  Names in_file, known, missing, extra, unlike;
  for (const auto& [name, type] : stored) {
    in_file.push_back(name);
    const auto [first, is_new] = by_name.try_emplace(parts.name_of(name), name);
    if (!is_new)
      return invalid("`" + first->second + "` and `" + name + "` would both become `" + first->first +
                         "`; --load-rename is to give each its own name",
                     where);
  }
  std::vector<LoadedTensor> taken;
  std::string shapes;  // of the first that is unlike
  for (std::size_t b = 0; b < persistent.buffers.size(); ++b) {
    const PersistentSpec& spec = persistent.buffers[b].spec;
    if (spec.role != Role::parameter) continue;
    known.push_back(spec.name);
    if (!parts.takes(spec.name)) continue;
    const auto found = by_name.find(spec.name);
    if (found == by_name.end()) {
      if (!parts.may_miss(spec.name)) missing.push_back(spec.name);
      continue;
    }
    const Shape& there = stored.at(found->second).shape;
    if (there != spec.type.shape) {
      if (unlike.empty())
        shapes = "`" + found->second + "` is " + to_string(there) + " in the file and " +
                 (found->second == spec.name ? "" : "as `" + spec.name + "` ") + to_string(spec.type.shape) +
                 " in the model";
      unlike.push_back(spec.name);
    }
    taken.push_back({b, found->second});
  }
  BALEEN_TRY(parts.check_patterns(known, in_file, where));
  for (const auto& [name, in_file_as] : by_name)
    if (parts.takes(name) && !parts.may_be_extra(in_file_as, name) && std::ranges::find(known, name) == known.end())
      extra.push_back(in_file_as);
  Names free;  // names of the file that nobody takes
  for (const auto& [name, in_file_as] : by_name)
    if (std::ranges::find(known, name) == known.end()) free.push_back(in_file_as);
  BALEEN_TRY(check_names(missing, extra, free, known, parts, where));
  if (taken.empty() && !known.empty())
    return invalid(parts.text() + " leaves no parameter to load; take one of these away, or begin without --load",
                   where);
  if (unlike.empty()) return taken;
  const std::size_t others = unlike.size() - 1;
  return invalid(
      shapes +
          (others > 0 ? ", and " + std::to_string(others) + (others > 1 ? " others differ" : " other differs") : "") +
          "; what is to keep its first values: --load-except " + unlike.front(),
      where);
}

}  // namespace baleen

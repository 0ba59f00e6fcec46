/// \file Matching a map's rules with what files hold, and reading by them.
#include "frontend/exchange/model_folder.hpp"

#include <algorithm>

#include "baleen/dtype.hpp"
#include "baleen/pattern.hpp"
#include "core/input/nearest.hpp"

namespace baleen {
namespace {

std::string did_you_mean(const std::string& name, const std::vector<std::string>& known) {
  const auto near = nearest(name, known);
  return near ? "; the nearest name is `" + *near + "`" : "";
}

bool matches_any(std::span<const std::string> patterns, const std::string& name) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches(pattern, name); });
}

std::string without(const std::string& prefix, const std::string& name) {
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

std::string made_for(const TensorRule& rule) { return " (for `" + rule.ours + "`)"; }

}  // namespace

Result<ModelFolder> ModelFolder::open(const Registry& plugins, const ModelFiles& files, ModelMap map, std::string path,
                                      const LoadParts& parts) {
  ModelFolder folder;
  folder.map_ = std::move(map);
  folder.path_ = std::move(path);
  for (const TensorRule& rule : folder.map_.rules) {
    BALEEN_TRY_ASSIGN(Arrangement arrangement, Arrangement::of(rule));
    folder.arrangements_.push_back(std::move(arrangement));
  }
  BALEEN_TRY_ASSIGN(folder.source_, open_tensor_files(plugins, files.files));
  BALEEN_TRY(folder.take_names(files));
  folder.names_.resize(folder.map_.rules.size());
  for (std::size_t i = 0; i < folder.map_.rules.size(); ++i) BALEEN_TRY(folder.match(i, parts));
  BALEEN_TRY(folder.refuse_unknown(parts));
  for (std::size_t i = 0; i < folder.map_.rules.size(); ++i) BALEEN_TRY(folder.check_copies(i));
  return folder;
}

/// The name that the files have for what a rule calls so.
std::string ModelFolder::their(const std::string& name) const { return bare_ ? without(map_.prefix, name) : name; }

Status ModelFolder::take_names(const ModelFiles& files) {
  bool prefixed = map_.prefix.empty();
  for (const auto& [name, type] : source_->tensors()) {
    std::string today = name;
    for (const auto& [earlier, later] : map_.earlier)
      if (today.ends_with(earlier)) today.replace(today.size() - earlier.size(), earlier.size(), later);
    if (!known_.emplace(today, name).second)
      return invalid("holds `" + today + "` under an earlier name too: `" + name + "`", source_->file_of(name));
    prefixed |= today.starts_with(map_.prefix);
  }
  bare_ = !prefixed;
  for (const auto& [name, number] : files.file_of) {
    const auto found = source_->tensors().find(name);
    if (found == source_->tensors().end())
      return invalid("`weight_map` names `" + name + "`, which is in none of the files", files.index);
    if (source_->file_of(name) != files.files.at(number))
      return invalid("`weight_map` says that `" + name + "` is in " + files.files.at(number) + ", but it is in " +
                         source_->file_of(name),
                     files.index);
  }
  return {};
}

/// Finds the tensors of a rule, and compares their shapes.
Status ModelFolder::match(std::size_t number, const LoadParts& parts) {
  const TensorRule& rule = map_.rules[number];
  if (!parts.takes(rule.ours)) return {};
  const Shape expected = arrangements_[number].theirs();
  std::vector<std::string> found;
  std::string missing;
  for (const std::string& name : rule.theirs) {
    auto known = known_.find(their(name));
    for (std::size_t i = 0; known == known_.end() && i < rule.copies.size(); ++i)
      known = known_.find(their(rule.copies[i]));
    if (known == known_.end()) {
      missing = their(name);
      continue;
    }
    const Shape& shape = source_->tensors().at(known->second).shape;
    if (shape != expected)
      return invalid("`" + known->second + "` is " + to_string(shape) + "; the map `" + map_.name + "` expects " +
                         to_string(expected) + made_for(rule) + " by the sizes in " + map_.config +
                         (rule.where.empty() ? "" : " (" + rule.where + ")"),
                     source_->file_of(known->second));
    if (!is_floating(source_->tensors().at(known->second).dtype))
      return invalid("`" + known->second + "` is " +
                         std::string(dtype_name(source_->tensors().at(known->second).dtype)) + made_for(rule) +
                         "; parameters are floating",
                     source_->file_of(known->second));
    found.push_back(known->second);
  }
  if (missing.empty()) {
    names_[number] = std::move(found);
    return {};
  }
  if ((rule.optional && found.empty()) || parts.may_miss(rule.ours)) return {};
  std::vector<std::string> all;
  for (const auto& [name, in_file] : known_) all.push_back(name);
  return invalid("there is no tensor `" + missing + "` " + to_string(expected) + made_for(rule) + ", which the map `" +
                     map_.name + "` reads for the head `" + map_.head + "`" +
                     (rule.where.empty() ? "" : " (" + rule.where + ")") + did_you_mean(missing, all),
                 path_);
}

/// Tied weights are one tensor here: their copies must be equal.
Status ModelFolder::check_copies(std::size_t number) const {
  const TensorRule& rule = map_.rules[number];
  if (rule.copies.empty() || names_[number].size() != 1) return {};
  const std::string& first = names_[number].front();
  HostTensor one;
  for (const std::string& copy : rule.copies) {
    const auto known = known_.find(their(copy));
    if (known == known_.end() || known->second == first) continue;
    if (one.bytes.empty()) {
      BALEEN_TRY_ASSIGN(one, source_->read(first));
    }
    BALEEN_TRY_ASSIGN(const HostTensor other, source_->read(known->second));
    if (other.shape != one.shape || other.dtype != one.dtype || other.bytes != one.bytes)
      return invalid("`" + known->second + "` differs from `" + first + "`, with which " + map_.config +
                         " says that it is tied; where they are two, `tie_word_embeddings` is false",
                     source_->file_of(known->second));
  }
  return {};
}

Status ModelFolder::refuse_unknown(const LoadParts& parts) const {
  std::vector<std::string> expected;
  for (const TensorRule& rule : map_.rules) {
    for (const std::string& name : rule.theirs) expected.push_back(their(name));
    for (const std::string& name : rule.copies) expected.push_back(their(name));
  }
  std::vector<std::string> sorted = expected;
  std::ranges::sort(sorted);
  for (const auto& [name, in_file] : known_) {
    if (std::ranges::binary_search(sorted, name) || matches_any(map_.unused, name)) continue;
    if (matches_any(map_.unused, map_.prefix + name) || parts.may_be_extra(in_file, name)) continue;
    return invalid("holds `" + in_file + "` " + to_string(source_->tensors().at(in_file).shape) +
                       ", of which the map `" + map_.name + "` makes nothing for the head `" + map_.head + "`" +
                       did_you_mean(name, expected),
                   source_->file_of(in_file));
  }
  return {};
}

std::vector<std::string> ModelFolder::names() const {
  std::vector<std::string> all;
  for (const auto& [today, in_file] : known_) all.push_back(in_file);
  for (const TensorRule& rule : map_.rules) all.push_back(rule.ours);
  return all;
}

baleen_dtype_t ModelFolder::dtype_of(std::size_t rule) const {
  return source_->tensors().at(names_[rule].front()).dtype;
}

Result<HostTensor> ModelFolder::read(std::size_t rule, baleen_dtype_t dtype, std::int64_t padded,
                                     Overflows* overflows) const {
  Overflows unheeded;
  const Arrangement& arrangement = arrangements_[rule];
  HostTensor made{dtype, arrangement.ours(padded), {}};
  const std::size_t element = dtype_size(dtype);
  made.bytes.resize(static_cast<std::size_t>(element_count(made.shape)) * element);
  for (std::size_t part = 0; part < names_[rule].size(); ++part) {
    BALEEN_TRY_ASSIGN(HostTensor tensor, source_->read(names_[rule][part]));
    BALEEN_TRY_ASSIGN(tensor,
                      (overflows ? *overflows : unheeded).convert(names_[rule][part], std::move(tensor), dtype));
    arrangement.to_ours(part, tensor.bytes, made.bytes, element, padded);
  }
  return made;
}

Status load_model(Session& session, const ModelFolder& folder, const LoadParts& parts) {
  std::map<std::string, std::size_t> rules;
  std::vector<std::string> ours, parameters;
  for (std::size_t i = 0; i < folder.rules().size(); ++i) {
    rules[folder.rules()[i].ours] = i;
    ours.push_back(folder.rules()[i].ours);
  }
  std::vector<std::pair<const PersistentBuffer*, std::size_t>> filled;
  for (const PersistentBuffer& buffer : session.persistent().buffers) {
    if (buffer.spec.role != Role::parameter) continue;
    parameters.push_back(buffer.spec.name);
    if (!parts.takes(buffer.spec.name)) continue;
    const auto found = rules.find(buffer.spec.name);
    if (found != rules.end() && folder.holds(found->second)) {
      filled.emplace_back(&buffer, found->second);
    } else if (!parts.may_miss(buffer.spec.name) && found == rules.end()) {
      return invalid("the map `" + folder.map().name + "` makes no parameter `" + buffer.spec.name + "` " +
                         to_string(buffer.spec.type.shape) + did_you_mean(buffer.spec.name, ours) +
                         "; what is to keep its first values is named with --allow-missing",
                     folder.map().config);
    }
  }
  BALEEN_TRY(parts.check_patterns(parameters, folder.names(), folder.map().config));
  for (const TensorRule& rule : folder.rules())
    if (parts.takes(rule.ours) && !parts.may_be_extra(rule.ours, rule.ours) &&
        std::ranges::find(parameters, rule.ours) == parameters.end())
      return invalid("the model has no parameter `" + rule.ours + "`, which the map `" + folder.map().name + "` makes" +
                         did_you_mean(rule.ours, parameters),
                     rule.where.empty() ? folder.map().config : rule.where);
  std::vector<std::int64_t> padded;
  for (const auto& [buffer, rule] : filled) {  // all shapes, before any byte
    auto fits = folder.arrangement(rule).padded_in(buffer->spec.type.shape);
    if (!fits) return invalid("the model's " + fits.error().message, folder.map().config);
    padded.push_back(*fits);
  }
  for (std::size_t i = 0; i < filled.size(); ++i) {
    const PersistentSpec& spec = filled[i].first->spec;
    BALEEN_TRY_ASSIGN(const HostTensor tensor, folder.read(filled[i].second, spec.type.dtype, padded[i]));
    BALEEN_TRY(session.write_tensor(spec.name, tensor.bytes.data(), tensor.bytes.size()));
  }
  return {};
}

}  // namespace baleen

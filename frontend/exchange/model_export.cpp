/// \file Writing folders, all or nothing.
#include "frontend/exchange/model_export.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "baleen/dtype.hpp"
#include "baleen/process_mark.hpp"
#include "core/input/nearest.hpp"

namespace baleen {
namespace {

namespace fs = std::filesystem;

Error io(const std::string& what, const fs::path& path, const std::string& reason) {
  return {BALEEN_IO, what + ": " + reason, path.string()};
}

Status sync(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && ::fsync(file) == 0;
  const int reason = errno;
  if (file >= 0) ::close(file);
  return synced ? Status() : io("cannot be written to the disk", path, std::strerror(reason));
}

/// A folder that vanishes unless it takes its place.
class NewFolder {
 public:
  static Result<std::unique_ptr<NewFolder>> at(const fs::path& target) {
    std::error_code failure;
    if (fs::exists(target, failure) && (!fs::is_directory(target, failure) || !fs::is_empty(target, failure)))
      return invalid("is there already; an export writes a new folder, so name another or remove it", target.string());
    auto folder = std::unique_ptr<NewFolder>(new NewFolder(target));
    if (!fs::create_directories(folder->path_, failure) && failure)
      return io("cannot be made", folder->path_, failure.message());
    return folder;
  }
  ~NewFolder() {
    std::error_code none;
    if (!path_.empty()) fs::remove_all(path_, none);
  }
  NewFolder(const NewFolder&) = delete;

  const fs::path& path() const { return path_; }

  Status take_place() {
    BALEEN_TRY(sync(path_));
    if (::rename(path_.c_str(), target_.c_str()) != 0) return io("cannot be made", target_, std::strerror(errno));
    path_.clear();
    return sync(target_.has_parent_path() ? target_.parent_path() : ".");
  }

 private:
  explicit NewFolder(const fs::path& target) : target_(target.has_filename() ? target : target.parent_path()) {
    sdk::remove_left_partials(target_);
    path_ = sdk::partial_of(target_);
  }
  fs::path target_, path_;
};

Status write_text(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) return io("cannot be written", path, std::strerror(errno));
  return sync(path);
}

/// One tensor of an export: where it comes from.
struct Outgoing {
  std::string name;
  baleen_dtype_t dtype = BALEEN_F32;
  Shape shape;
  std::function<Result<HostTensor>()> make;

  std::int64_t bytes() const { return element_count(shape) * static_cast<std::int64_t>(dtype_size(dtype)); }
};

Status write_folder(const Registry& plugins, const std::vector<Outgoing>& tensors, const PlanFiles& plan,
                    const ExportOptions& options) {
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  for (const Outgoing& tensor : tensors) sizes.emplace_back(tensor.name, tensor.bytes());
  BALEEN_TRY_ASSIGN(const ExportPlan planned, plan(sizes));
  BALEEN_TRY_ASSIGN(const auto folder, NewFolder::at(options.folder));
  std::size_t next = 0;
  for (const auto& [name, count] : planned.files) {
    HostTensors contents;
    for (const std::size_t end = next + count; next < end; ++next) {
      const Outgoing& one = tensors.at(next);
      BALEEN_TRY_ASSIGN(HostTensor tensor, one.make());
      BALEEN_TRY_ASSIGN(contents[one.name], options.overflows.convert(one.name, std::move(tensor), one.dtype));
    }
    BALEEN_TRY(write_tensor_file(plugins, (folder->path() / name).string(), contents));
  }
  for (const auto& [name, text] : planned.texts) BALEEN_TRY(write_text(folder->path() / name, text));
  for (const fs::path& file : planned.copies) {
    std::error_code failure;
    fs::copy_file(file, folder->path() / file.filename(), failure);
    if (failure) return io("cannot be copied", file, failure.message());
    BALEEN_TRY(sync(folder->path() / file.filename()));
  }
  return folder->take_place();
}

/// The parameter that was read last: the tensors that are made of one follow each other.
struct LastRead {
  std::string name;
  HostTensor tensor;

  Result<const HostTensor*> get(const TensorSource& source, const std::string& wanted) {
    if (name != wanted) {
      name.clear();
      BALEEN_TRY_ASSIGN(tensor, source.read(wanted));
      name = wanted;
    }
    return &tensor;
  }
};

std::vector<std::string> names_of(const TensorSource& source) {
  std::vector<std::string> names;
  for (const auto& [name, type] : source.tensors()) names.push_back(name);
  return names;
}

Error near(std::string message, const std::string& name, const std::vector<std::string>& known, std::string where) {
  const auto nearest_name = nearest(name, known);
  if (nearest_name) message += "; the nearest name is `" + *nearest_name + "`";
  return invalid(std::move(message), std::move(where));
}

/// The tensors that a rule makes of one of ours.
Status append_rule(const TensorSource& source, const ModelMap& map, const TensorRule& rule,
                   const ExportOptions& options, const std::shared_ptr<LastRead>& last,
                   std::vector<Outgoing>& tensors) {
  const auto found = source.tensors().find(rule.ours);
  if (found == source.tensors().end()) {
    if (rule.optional) return {};
    return near("there is no parameter `" + rule.ours + "`, which the map `" + map.name + "` needs for the head `" +
                    map.head + "`",
                rule.ours, names_of(source), rule.where.empty() ? map.config : rule.where);
  }
  BALEEN_TRY_ASSIGN(const Arrangement arrangement, Arrangement::of(rule));
  auto padded = arrangement.padded_in(found->second.shape);
  if (!padded) return invalid(padded.error().message + ", by the sizes in " + map.config, source.file_of(rule.ours));
  const baleen_dtype_t own = found->second.dtype;
  if (!is_floating(own))
    return invalid("`" + rule.ours + "` is " + std::string(dtype_name(own)) + "; parameters are floating",
                   source.file_of(rule.ours));
  for (std::size_t part = 0; part < rule.theirs.size(); ++part) {
    std::string name = rule.theirs[part];
    if (map.bare && name.starts_with(map.prefix)) name.erase(0, map.prefix.size());
    tensors.push_back({name, options.dtype.value_or(own), arrangement.theirs(),
                       [&source, last, ours = rule.ours, arrangement, part, padded = *padded]() -> Result<HostTensor> {
                         BALEEN_TRY_ASSIGN(const HostTensor* tensor, last->get(source, ours));
                         HostTensor made{tensor->dtype, arrangement.theirs(), {}};
                         const std::size_t element = dtype_size(tensor->dtype);
                         made.bytes.resize(static_cast<std::size_t>(element_count(made.shape)) * element);
                         arrangement.to_theirs(part, tensor->bytes, made.bytes, element, padded);
                         return made;
                       }});
  }
  return {};
}

}  // namespace

Status export_model(const Registry& plugins, const TensorSource& source, const ModelMap& map, const PlanFiles& plan,
                    const ExportOptions& options) {
  std::vector<Outgoing> tensors;
  std::vector<std::string> ours;
  const auto last = std::make_shared<LastRead>();
  for (const TensorRule& rule : map.rules) {
    BALEEN_TRY(append_rule(source, map, rule, options, last, tensors));
    ours.push_back(rule.ours);
  }
  for (const std::string& name : names_of(source))
    if (std::ranges::find(ours, name) == ours.end())
      return near(
          "holds `" + name + "`, of which the map `" + map.name + "` makes nothing for the head `" + map.head + "`",
          name, ours, source.file_of(name));
  return write_folder(plugins, tensors, plan, options);
}

Status copy_model(const Registry& plugins, const TensorSource& source, const PlanFiles& plan,
                  const ExportOptions& options) {
  std::vector<Outgoing> tensors;
  for (const auto& [name, type] : source.tensors()) {
    const bool converts = options.dtype && is_floating(type.dtype);
    tensors.push_back({name, converts ? *options.dtype : type.dtype, type.shape,
                       [&source, name = name]() { return source.read(name); }});
  }
  return write_folder(plugins, tensors, plan, options);
}

Result<HostTensors> import_model(const ModelFolder& folder, std::optional<baleen_dtype_t> dtype, Overflows& overflows) {
  HostTensors tensors;
  for (std::size_t i = 0; i < folder.rules().size(); ++i) {
    if (!folder.holds(i)) continue;
    const std::int64_t padded = folder.arrangement(i).padded_extent(folder.map().multiple);
    BALEEN_TRY_ASSIGN(tensors[folder.rules()[i].ours],
                      folder.read(i, dtype.value_or(folder.dtype_of(i)), padded, &overflows));
  }
  return tensors;
}

}  // namespace baleen

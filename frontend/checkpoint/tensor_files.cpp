/// \file Calls of the tables of checkpoint plugins.
#include "frontend/checkpoint/tensor_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "baleen/checkpoint.h"
#include "baleen/file_handle.hpp"
#include "baleen/plugin.hpp"
#include "baleen/process_mark.hpp"
#include "core/input/links.hpp"
#include "frontend/checkpoint/checkpoint_root.hpp"
#include "frontend/checkpoint/tensor_format.hpp"

namespace baleen {

namespace {

/// `latest` and `best` of a folder of checkpoints hold names.
Status check_names_none(const std::filesystem::path& path) {
  const CheckpointRoot root(path.has_parent_path() ? path.parent_path() : ".");
  std::string name;
  if (const auto best = root.best(); best && path.filename() == "best") name = best->name;
  if (const auto latest = root.latest(); latest && *latest && path.filename() == "latest") name = (**latest).filename();
  std::error_code failure;
  if (name.empty() || !std::filesystem::is_regular_file(path, failure)) return {};
  return invalid("holds the name of a checkpoint; give that one's folder, " + (root.folder() / name).string(),
                 path.string());
}

}  // namespace

Result<TensorFormat> tensor_format_of(const Registry& plugins, const std::string& path) {
  BALEEN_TRY(check_names_none(path));
  std::string ending = std::filesystem::path(path).extension().string();
  if (!ending.empty()) ending.erase(0, 1);
  BALEEN_TRY_ASSIGN(const Descriptor descriptor, plugins.by_extension("checkpoint", ending));
  BALEEN_TRY_ASSIGN(Plugin plugin, plugins.open(descriptor));
  BALEEN_TRY_ASSIGN(const auto* table, plugin.table<baleen_checkpoint_t>("checkpoint"));
  return TensorFormat{std::move(plugin), table};
}

baleen_named_tensor_t abi_tensor(const std::string& name, baleen_dtype_t dtype, const Shape& shape) {
  baleen_named_tensor_t tensor{};
  tensor.name = abi(name);
  tensor.dtype = dtype;
  tensor.rank = static_cast<std::uint32_t>(shape.size());
  std::ranges::copy(shape, tensor.shape);
  return tensor;
}

std::vector<baleen_string_t> abi_facts(const std::map<std::string, std::string>& facts) {
  std::vector<baleen_string_t> pairs;
  for (const auto& [name, text] : facts) pairs.insert(pairs.end(), {abi(name), abi(text)});
  return pairs;
}

namespace {

/// Closed at the end.
struct OpenFile {
  explicit OpenFile(TensorFormat given) : format(std::move(given)) {}
  OpenFile(const OpenFile&) = delete;
  ~OpenFile() {
    if (reader) format.table->close(reader);
  }

  TensorFormat format;
  void* reader = nullptr;
};

class TensorFiles : public TensorSource {
 public:
  const std::map<std::string, ValueType>& tensors() const override { return types_; }
  std::string file_of(const std::string& name) const override { return places_.at(name).path; }
  const std::map<std::string, std::string>& facts() const override { return facts_; }

  Result<HostTensor> read(const std::string& name) const override {
    const Place& place = places_.at(name);
    const ValueType& type = types_.at(name);
    HostTensor tensor{type.dtype, type.shape, std::vector<std::byte>(place.bytes)};
    const TensorFormat& format = place.file->format;
    BALEEN_TRY(format.plugin.check(
        format.table->read(place.file->reader, place.number, tensor.bytes.data(), tensor.bytes.size())));
    return tensor;
  }

  Status add(const Registry& plugins, const std::string& path) {
    Result<TensorFormat> format = tensor_format_of(plugins, path);
    std::error_code none;  // a folder whose name is mistyped has no ending
    if (!format && !std::filesystem::exists(path, none)) return Error{BALEEN_NOT_FOUND, "no such file or folder", path};
    if (!format) return format.error();
    auto& file = *files_.emplace_back(std::make_unique<OpenFile>(std::move(*format)));
    const Plugin& plugin = file.format.plugin;
    BALEEN_TRY(plugin.check(file.format.table->open(plugin.host(), abi(path), &file.reader)));
    const baleen_named_tensor_t* tensors = nullptr;
    const baleen_string_t* facts = nullptr;
    std::uint64_t count = 0, fact_count = 0;
    BALEEN_TRY(plugin.check(file.format.table->list(file.reader, &tensors, &count, &facts, &fact_count)));
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string name(view(tensors[i].name));
      const auto [known, is_new] = places_.try_emplace(name, Place{&file, i, tensors[i].bytes, path});
      if (!is_new) return invalid("holds `" + name + "`, which " + known->second.path + " holds too", path);
      types_[name] = {tensors[i].dtype, {tensors[i].shape, tensors[i].shape + tensors[i].rank}};
    }
    for (std::uint64_t i = 0; i < fact_count; ++i) facts_[std::string(view(facts[2 * i]))] = view(facts[2 * i + 1]);
    return {};
  }

 private:
  struct Place {
    const OpenFile* file;
    std::uint64_t number, bytes;
    std::string path;
  };
  std::vector<std::unique_ptr<OpenFile>> files_;
  std::map<std::string, Place> places_;
  std::map<std::string, ValueType> types_;
  std::map<std::string, std::string> facts_;  // of files that say the same the last one counts
};

}  // namespace

Result<std::unique_ptr<TensorSource>> open_tensor_files(const Registry& plugins,
                                                        const std::vector<std::string>& paths) {
  auto files = std::make_unique<TensorFiles>();
  for (const std::string& path : paths) BALEEN_TRY(files->add(plugins, path));
  return std::unique_ptr<TensorSource>(std::move(files));
}

Status check_tensor_file(const Registry& plugins, const std::string& path) {
  BALEEN_TRY(tensor_format_of(plugins, path));
  return {};
}

namespace {

/// What is written first has a longer name than the file.
Status check_name(const std::string& path, const std::filesystem::path& folder) {
  const long most = ::pathconf(folder.c_str(), _PC_NAME_MAX);
  const auto longer = static_cast<long>(sdk::partial_of(path).filename().string().size());
  if (most <= 0 || longer <= most) return {};
  const auto own = static_cast<long>(std::filesystem::path(path).filename().string().size());
  return Error{BALEEN_IO,
               "cannot be saved to: its name has " + std::to_string(own) + " bytes, and may have " +
                   std::to_string(std::max(0L, own - (longer - most))) + " there; take a shorter one",
               path};
}

}  // namespace

Status check_saving(const Registry& plugins, const std::string& path) {
  BALEEN_TRY(check_tensor_file(plugins, path));
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) return Error{BALEEN_IO, "cannot be saved to: it is a folder", path};
  // What is written first is a file beside it, which takes its place.
  if (!std::filesystem::is_directory(folder, none))
    return Error{BALEEN_IO, "cannot be saved to: there is no folder `" + folder.string() + "`", path};
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return Error{BALEEN_IO, "cannot be saved to: its folder: " + std::string(std::strerror(errno)), path};
  BALEEN_TRY(check_name(path, folder));
  const std::filesystem::path probe = sdk::partial_of(path);
  if (const FileHandle file(::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)); !file)
    return Error{BALEEN_IO, "cannot be saved to: " + std::string(std::strerror(errno)), path};
  ::unlink(probe.c_str());
  return {};
}

Status check_room(const std::string& path, std::uint64_t bytes, const std::string& what) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  std::error_code failed;
  const std::filesystem::space_info disk = std::filesystem::space(folder, failed);
  if (failed || disk.available >= bytes) return {};
  return Error{BALEEN_IO,
               "cannot be saved to: " + std::to_string(bytes) + " bytes of " + what + " are to be written, and " +
                   std::to_string(disk.available) + " bytes are free in `" + folder.string() +
                   "`; make room, or save elsewhere",
               path};
}

Result<HostTensors> read_tensor_file(const Registry& plugins, const std::string& path) {
  BALEEN_TRY_ASSIGN(const auto file, open_tensor_files(plugins, {path}));
  HostTensors tensors;
  for (const auto& [name, type] : file->tensors()) {
    BALEEN_TRY_ASSIGN(tensors[name], file->read(name));
  }
  return tensors;
}

Status write_tensor_file(const Registry& plugins, const std::string& path, const HostTensors& tensors,
                         const std::map<std::string, std::string>& facts) {
  BALEEN_TRY_ASSIGN(const TensorFormat format, tensor_format_of(plugins, path));
  std::vector<baleen_named_tensor_t> list;
  for (const auto& [name, given] : tensors) {
    baleen_named_tensor_t& tensor = list.emplace_back(abi_tensor(name, given.dtype, given.shape));
    tensor.bytes = given.bytes.size();
    tensor.data = const_cast<std::byte*>(given.bytes.data());  // the plugin reads it
  }
  const std::vector<baleen_string_t> pairs = abi_facts(facts);
  const std::string place = behind_links(path).string();
  return format.plugin.check(
      format.table->write(format.plugin.host(), abi(place), list.data(), list.size(), pairs.data(), facts.size()));
}

}  // namespace baleen

/// \file Parameters to and from a file, by the plugin that the file's ending chooses.
#include "frontend/checkpoint/parameter_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "baleen/checkpoint.h"
#include "baleen/dtype.hpp"
#include "baleen/plugin.hpp"
#include "core/input/nearest.hpp"

namespace baleen {
namespace {

struct Format {
  Plugin plugin;
  const baleen_checkpoint_t* table;
};

Result<Format> format_of(const Registry& plugins, const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  if (!ending.empty()) ending.erase(0, 1);
  BALEEN_TRY_ASSIGN(const Descriptor descriptor, plugins.by_extension("checkpoint", ending));
  BALEEN_TRY_ASSIGN(Plugin plugin, plugins.open(descriptor));
  BALEEN_TRY_ASSIGN(const auto* table, plugin.table<baleen_checkpoint_t>("checkpoint"));
  return Format{std::move(plugin), table};
}

std::vector<const PersistentBuffer*> parameters(const Session& session) {
  std::vector<const PersistentBuffer*> list;
  for (const PersistentBuffer& buffer : session.persistent().buffers)
    if (buffer.spec.role == Role::parameter) list.push_back(&buffer);
  return list;
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& known) {
  const auto near = nearest(name, known);
  return near ? "; the nearest name is `" + *near + "`" : "";
}

/// An open file; closed at the end.
class Reader {
 public:
  static Result<std::unique_ptr<Reader>> open(const Registry& plugins, const std::string& path) {
    BALEEN_TRY_ASSIGN(Format format, format_of(plugins, path));
    auto reader = std::unique_ptr<Reader>(new Reader(std::move(format), path));
    auto& r = *reader;
    BALEEN_TRY(r.format_.plugin.check(r.format_.table->open(r.format_.plugin.host(), abi(path), &r.reader_)));
    const baleen_string_t* facts = nullptr;
    std::uint64_t fact_count = 0;
    BALEEN_TRY(r.format_.plugin.check(r.format_.table->list(r.reader_, &r.tensors_, &r.count_, &facts, &fact_count)));
    return reader;
  }
  ~Reader() {
    if (reader_) format_.table->close(reader_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Every parameter is in the file, nothing else is.
  Status check_names(const std::vector<const PersistentBuffer*>& wanted) const {
    std::vector<std::string> in_file;
    for (std::uint64_t i = 0; i < count_; ++i) in_file.emplace_back(view(tensors_[i].name));
    for (const PersistentBuffer* buffer : wanted) {
      if (find(buffer->spec.name)) continue;
      return invalid("it has no tensor `" + buffer->spec.name + "`" + did_you_mean(buffer->spec.name, in_file), path_);
    }
    if (count_ == wanted.size()) return {};
    std::vector<std::string> known;
    for (const PersistentBuffer* buffer : wanted) known.push_back(buffer->spec.name);
    for (const std::string& name : in_file)
      if (std::find(known.begin(), known.end(), name) == known.end())
        return invalid("the model has no parameter `" + name + "`" + did_you_mean(name, known), path_);
    return {};
  }

  Status load(Session& session, const PersistentBuffer& buffer) const {
    const baleen_named_tensor_t& tensor = *find(buffer.spec.name);
    const ValueType& type = buffer.spec.type;
    if (shape_of(tensor) != type.shape)
      return invalid("`" + buffer.spec.name + "` is " + to_string(shape_of(tensor)) + " in the file and " +
                         to_string(type.shape) + " in the model",
                     path_);
    BALEEN_TRY_ASSIGN(std::vector<std::byte> bytes, read(tensor));
    if (tensor.dtype != type.dtype) {
      BALEEN_TRY_ASSIGN(bytes, convert(bytes, tensor.dtype, type.dtype, buffer.spec.name));
    }
    return session.write_tensor(buffer.spec.name, bytes.data(), bytes.size());
  }

  Result<HostTensors> all() const {
    HostTensors tensors;
    for (std::uint64_t i = 0; i < count_; ++i) {
      BALEEN_TRY_ASSIGN(std::vector<std::byte> bytes, read(tensors_[i]));
      tensors[std::string(view(tensors_[i].name))] = {tensors_[i].dtype, shape_of(tensors_[i]), std::move(bytes)};
    }
    return tensors;
  }

 private:
  Reader(Format format, std::string path) : format_(std::move(format)), path_(std::move(path)) {}

  static Shape shape_of(const baleen_named_tensor_t& tensor) { return {tensor.shape, tensor.shape + tensor.rank}; }

  Result<std::vector<std::byte>> read(const baleen_named_tensor_t& tensor) const {
    std::vector<std::byte> bytes(tensor.bytes);
    const auto number = static_cast<std::uint64_t>(&tensor - tensors_);
    BALEEN_TRY(format_.plugin.check(format_.table->read(reader_, number, bytes.data(), bytes.size())));
    return bytes;
  }

  const baleen_named_tensor_t* find(const std::string& name) const {
    for (std::uint64_t i = 0; i < count_; ++i)
      if (view(tensors_[i].name) == name) return &tensors_[i];
    return nullptr;
  }

  template <class From, class To>
  static std::vector<std::byte> convert_as(const std::vector<std::byte>& bytes) {
    const std::size_t count = bytes.size() / sizeof(From);
    std::vector<std::byte> result(count * sizeof(To));
    const auto* from = reinterpret_cast<const From*>(bytes.data());
    auto* to = reinterpret_cast<To*>(result.data());
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
    return result;
  }

  Result<std::vector<std::byte>> convert(const std::vector<std::byte>& bytes, baleen_dtype_t from, baleen_dtype_t to,
                                         const std::string& name) const {
    if (from == BALEEN_F32 && to == BALEEN_F64) return convert_as<float, double>(bytes);
    if (from == BALEEN_F64 && to == BALEEN_F32) return convert_as<double, float>(bytes);
    return unsupported("`" + name + "` is " + std::string(dtype_name(from)) + " in the file and " +
                           std::string(dtype_name(to)) + " in the model; only fp32 and fp64 are converted",
                       path_);
  }

  Format format_;
  std::string path_;
  void* reader_ = nullptr;
  const baleen_named_tensor_t* tensors_ = nullptr;
  std::uint64_t count_ = 0;
};

baleen_named_tensor_t named_tensor(const std::string& name, baleen_dtype_t dtype, const Shape& shape,
                                   const std::vector<std::byte>& bytes) {
  baleen_named_tensor_t tensor{};
  tensor.name = abi(name);
  tensor.dtype = dtype;
  tensor.rank = static_cast<std::uint32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), tensor.shape);
  tensor.bytes = bytes.size();
  tensor.data = const_cast<std::byte*>(bytes.data());  // the plugin reads it
  return tensor;
}

}  // namespace

Status check_saving(const Registry& plugins, const std::string& path) {
  BALEEN_TRY(format_of(plugins, path));
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) return Error{BALEEN_IO, "cannot be saved to: it is a folder", path};
  // What is written first is a file beside it, which takes its place.
  if (!std::filesystem::is_directory(folder, none))
    return Error{BALEEN_IO, "cannot be saved to: there is no folder `" + folder.string() + "`", path};
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return Error{BALEEN_IO, "cannot be saved to: its folder: " + std::string(std::strerror(errno)), path};
  return {};
}

Status save_parameters(Session& session, const Registry& plugins, const std::string& path,
                       const std::map<std::string, std::string>& facts, bool writes) {
  BALEEN_TRY_ASSIGN(const Format format, format_of(plugins, path));
  std::vector<std::vector<std::byte>> contents;
  std::vector<baleen_named_tensor_t> tensors;
  for (const PersistentBuffer* buffer : parameters(session)) {
    contents.emplace_back(element_count(buffer->spec.type.shape) * dtype_size(buffer->spec.type.dtype));
    BALEEN_TRY(session.read_tensor(buffer->spec.name, contents.back().data(), contents.back().size()));
    if (!writes) {
      contents.pop_back();
      continue;
    }
    tensors.push_back(
        named_tensor(buffer->spec.name, buffer->spec.type.dtype, buffer->spec.type.shape, contents.back()));
  }
  if (!writes) return {};
  std::vector<baleen_string_t> pairs;
  for (const auto& [name, text] : facts) {
    pairs.push_back(abi(name));
    pairs.push_back(abi(text));
  }
  return format.plugin.check(format.table->write(format.plugin.host(), abi(path), tensors.data(), tensors.size(),
                                                 pairs.data(), pairs.size() / 2));
}

Status load_parameters(Session& session, const Registry& plugins, const std::string& path) {
  BALEEN_TRY_ASSIGN(const auto reader, Reader::open(plugins, path));
  const auto wanted = parameters(session);
  BALEEN_TRY(reader->check_names(wanted));
  for (const PersistentBuffer* buffer : wanted) BALEEN_TRY(reader->load(session, *buffer));
  return {};
}

Result<HostTensors> read_tensors(const Registry& plugins, const std::string& path) {
  BALEEN_TRY_ASSIGN(const auto reader, Reader::open(plugins, path));
  return reader->all();
}

Status write_tensors(const Registry& plugins, const std::string& path, const HostTensors& tensors) {
  BALEEN_TRY_ASSIGN(const Format format, format_of(plugins, path));
  std::vector<baleen_named_tensor_t> named;
  for (const auto& [name, tensor] : tensors)
    named.push_back(named_tensor(name, tensor.dtype, tensor.shape, tensor.bytes));
  return format.plugin.check(
      format.table->write(format.plugin.host(), abi(path), named.data(), named.size(), nullptr, 0));
}

}  // namespace baleen

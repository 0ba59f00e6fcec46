/// \file Parameters to and from a file, by the plugin that the file's ending chooses.
#include "frontend/checkpoint/parameter_file.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "baleen/dtype.hpp"
#include "core/input/nearest.hpp"
#include "frontend/checkpoint/tensor_files.hpp"

namespace baleen {
namespace {

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

/// Every parameter is in the file, nothing else is.
Status check_names(const TensorSource& file, const std::string& path,
                   const std::vector<const PersistentBuffer*>& wanted) {
  std::vector<std::string> in_file, known;
  for (const auto& [name, type] : file.tensors()) in_file.push_back(name);
  for (const PersistentBuffer* buffer : wanted) {
    const std::string& name = known.emplace_back(buffer->spec.name);
    if (!file.tensors().contains(name))
      return invalid("it has no tensor `" + name + "`" + did_you_mean(name, in_file), path);
  }
  if (in_file.size() == known.size()) return {};
  for (const std::string& name : in_file)
    if (std::ranges::find(known, name) == known.end())
      return invalid("the model has no parameter `" + name + "`" + did_you_mean(name, known), path);
  return {};
}

Status load(Session& session, const TensorSource& file, const std::string& path, const PersistentBuffer& buffer) {
  const std::string& name = buffer.spec.name;
  const ValueType &there = file.tensors().at(name), &type = buffer.spec.type;
  if (there.shape != type.shape)
    return invalid(
        "`" + name + "` is " + to_string(there.shape) + " in the file and " + to_string(type.shape) + " in the model",
        path);
  const auto is_wide = [](baleen_dtype_t dtype) { return dtype == BALEEN_F32 || dtype == BALEEN_F64; };
  if (there.dtype != type.dtype && !(is_wide(there.dtype) && is_wide(type.dtype)))
    return unsupported("`" + name + "` is " + std::string(dtype_name(there.dtype)) + " in the file and " +
                           std::string(dtype_name(type.dtype)) + " in the model; only fp32 and fp64 are converted",
                       path);
  BALEEN_TRY_ASSIGN(HostTensor tensor, file.read(name));
  BALEEN_TRY_ASSIGN(tensor, with_dtype(std::move(tensor), type.dtype));
  return session.write_tensor(name, tensor.bytes.data(), tensor.bytes.size());
}

}  // namespace

Status save_parameters(Session& session, const Registry& plugins, const std::string& path,
                       const std::map<std::string, std::string>& facts, bool writes) {
  BALEEN_TRY(check_tensor_file(plugins, path));
  HostTensors tensors;
  for (const PersistentBuffer* buffer : parameters(session)) {
    const ValueType& type = buffer->spec.type;
    HostTensor tensor{type.dtype, type.shape, {}};
    tensor.bytes.resize(static_cast<std::size_t>(element_count(type.shape)) * dtype_size(type.dtype));
    BALEEN_TRY(session.read_tensor(buffer->spec.name, tensor.bytes.data(), tensor.bytes.size()));
    if (writes) tensors[buffer->spec.name] = std::move(tensor);
  }
  return writes ? write_tensor_file(plugins, path, tensors, facts) : Status();
}

Status load_parameters(Session& session, const Registry& plugins, const std::string& path) {
  BALEEN_TRY_ASSIGN(const auto file, open_tensor_files(plugins, {path}));
  const auto wanted = parameters(session);
  BALEEN_TRY(check_names(*file, path, wanted));
  for (const PersistentBuffer* buffer : wanted) BALEEN_TRY(load(session, *file, path, *buffer));
  return {};
}

}  // namespace baleen

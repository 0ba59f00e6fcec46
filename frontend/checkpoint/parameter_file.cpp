/// \file Parameters to and from a file, by the plugin that the file's ending chooses.
#include "frontend/checkpoint/parameter_file.hpp"

#include <utility>
#include <vector>

#include "baleen/dtype.hpp"
#include "frontend/checkpoint/tensor_files.hpp"

namespace baleen {
namespace {

std::vector<const PersistentBuffer*> parameters(const Session& session) {
  std::vector<const PersistentBuffer*> list;
  for (const PersistentBuffer& buffer : session.persistent().buffers)
    if (buffer.spec.role == Role::parameter) list.push_back(&buffer);
  return list;
}

/// What the precisions of the two allow.
Status check_dtype(const std::string& name, const ValueType& there, const ValueType& type, const std::string& path) {
  const auto is_wide = [](baleen_dtype_t dtype) { return dtype == BALEEN_F32 || dtype == BALEEN_F64; };
  if (there.dtype == type.dtype || (is_wide(there.dtype) && is_wide(type.dtype))) return {};
  return unsupported("`" + name + "` is " + std::string(dtype_name(there.dtype)) + " in the file and " +
                         std::string(dtype_name(type.dtype)) + " in the model; only fp32 and fp64 are converted",
                     path);
}

}  // namespace

Result<HostTensors> read_parameters(Session& session, bool keeps) {
  HostTensors tensors;
  for (const PersistentBuffer* buffer : parameters(session)) {
    const ValueType& type = buffer->spec.type;
    HostTensor tensor{type.dtype, type.shape, {}};
    tensor.bytes.resize(static_cast<std::size_t>(element_count(type.shape)) * dtype_size(type.dtype));
    BALEEN_TRY(session.read_tensor(buffer->spec.name, tensor.bytes.data(), tensor.bytes.size()));
    if (keeps) tensors[buffer->spec.name] = std::move(tensor);
  }
  return tensors;
}

Status save_parameters(Session& session, const Registry& plugins, const std::string& path,
                       const std::map<std::string, std::string>& facts) {
  BALEEN_TRY(check_tensor_file(plugins, path));
  BALEEN_TRY_ASSIGN(const HostTensors tensors, read_parameters(session));
  return write_tensor_file(plugins, path, tensors, facts);
}

Status load_parameters(Session& session, const Registry& plugins, const std::string& path, const LoadParts& parts) {
  BALEEN_TRY_ASSIGN(const auto file, open_tensor_files(plugins, {path}));
  BALEEN_TRY_ASSIGN(const auto taken, match_parts(session.persistent(), file->tensors(), parts, path));
  const auto spec = [&](const LoadedTensor& one) -> const PersistentSpec& {
    return session.persistent().buffers[one.buffer].spec;
  };
  for (const LoadedTensor& one : taken)
    BALEEN_TRY(check_dtype(one.stored, file->tensors().at(one.stored), spec(one).type, path));
  for (const LoadedTensor& one : taken) {
    BALEEN_TRY_ASSIGN(HostTensor tensor, file->read(one.stored));
    BALEEN_TRY_ASSIGN(tensor, with_dtype(std::move(tensor), spec(one).type.dtype));
    BALEEN_TRY(session.write_tensor(spec(one).name, tensor.bytes.data(), tensor.bytes.size()));
  }
  return {};
}

}  // namespace baleen

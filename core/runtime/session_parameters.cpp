/// \file Reads and writes parameters by name.
#include "baleen/dtype.hpp"
#include "core/input/nearest.hpp"
#include "core/runtime/session_impl.hpp"

namespace baleen {
namespace {

Result<const PersistentBuffer*> parameter_named(const PersistentLayout& persistent, const std::string& name) {
  std::vector<std::string> known;
  for (const PersistentBuffer& buffer : persistent.buffers) {
    if (buffer.spec.role != Role::parameter) continue;
    if (buffer.spec.name == name) return &buffer;
    known.push_back(buffer.spec.name);
  }
  return invalid(unknown_word("parameter", name, known));
}

}  // namespace

Result<HostTensor> Session::read_parameter(const std::string& name) {
  BALEEN_TRY_ASSIGN(const PersistentBuffer* buffer, parameter_named(persistent(), name));
  const ValueType& type = buffer->spec.type;
  HostTensor tensor{type.dtype, type.shape, {}};
  tensor.bytes.resize(static_cast<std::size_t>(element_count(type.shape)) * dtype_size(type.dtype));
  BALEEN_TRY(read_tensor(name, tensor.bytes.data(), tensor.bytes.size()));
  return tensor;
}

Status Session::write_parameter(const std::string& name, HostTensor tensor) {
  BALEEN_TRY_ASSIGN(const PersistentBuffer* buffer, parameter_named(persistent(), name));
  const ValueType& type = buffer->spec.type;
  if (tensor.shape != type.shape)
    return invalid("parameter `" + name + "` is " + to_string(type.shape) + ", not " + to_string(tensor.shape));
  Result<HostTensor> converted = with_dtype(std::move(tensor), type.dtype);
  if (!converted) return Error{converted.error().code, "parameter `" + name + "`: " + converted.error().message, {}};
  return write_tensor(name, converted->bytes.data(), converted->bytes.size());
}

}  // namespace baleen

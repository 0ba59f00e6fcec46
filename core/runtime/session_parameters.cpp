/// \file Reads and writes persistent tensors by name, wherever they lie.
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

Status Session::Impl::copy(void* to, const void* from, std::uint64_t bytes) {
  BALEEN_TRY(device.check(device.table().copy(device.handle(), device.stream(), to, from, bytes)));
  return device.check(device.table().synchronize(device.handle(), device.stream()));
}

Result<const PersistentBuffer*> Session::Impl::tensor(const std::string& name, std::uint64_t bytes) const {
  const PersistentBuffer* buffer = persistent.find(name);
  if (!buffer) return invalid("no persistent tensor `" + name + "`");
  const ValueType& type = buffer->spec.type;
  const std::uint64_t whole = static_cast<std::uint64_t>(element_count(type.shape)) * dtype_size(type.dtype);
  if (bytes == whole) return buffer;
  return internal("`" + name + "` has " + std::to_string(whole) + " bytes, not " + std::to_string(bytes));
}

Result<std::vector<std::byte>> Session::read_own(const std::string& name) {
  const PersistentBuffer* buffer = impl_->persistent.find(name);
  if (!buffer) return invalid("no persistent tensor `" + name + "`");
  std::vector<std::byte> own(buffer->bytes);
  BALEEN_TRY(read_own(*buffer, 0, own));
  return own;
}

Status Session::Impl::read_stored(const PersistentBuffer& buffer, std::uint64_t from, std::span<std::byte> to) {
  if (buffer.is_offloaded()) return store->read(buffer.slot, buffer.bytes, from, to);
  return copy(to.data(), persistent_arena.at(buffer.offset + from), to.size());
}

Status Session::Impl::write_stored(const PersistentBuffer& buffer, std::span<const std::byte> from) {
  if (buffer.is_offloaded())
    BALEEN_TRY(store->write(buffer.slot, from));
  else
    BALEEN_TRY(copy(persistent_arena.at(buffer.offset), from.data(), from.size()));
  if (options.watch) options.watch->wrote(buffer);
  return {};
}

Status Session::read_own(const PersistentBuffer& buffer, std::uint64_t from, std::span<std::byte> to) {
  return impl_->read_stored(buffer, from, to);
}

const std::byte* Session::own_memory(const PersistentBuffer& buffer) const {
  if (impl_->device.memory()) return nullptr;  // a device with arenas of its own has queues
  return buffer.is_offloaded() ? impl_->store->memory(buffer.slot) : impl_->persistent_arena.at(buffer.offset);
}

const std::byte* Session::beside_memory(const PersistentBuffer& buffer) const {
  if (!impl_->updates_beside || !buffer.is_offloaded()) return nullptr;
  bool is_used = false;
  for (const JobProgram& one : impl_->programs) {
    if (one.role == GraphRole::initialize) continue;  // it is over
    const Executable& executable = one.program.executable();
    for (const AddressSource& source : executable.sources)
      is_used |= source.arena == AddressSource::Arena::slot && source.slot == buffer.slot;
    for (const ExecutableTransfer& transfer : executable.transfers)
      if (transfer.is_put && transfer.slot == buffer.slot) return nullptr;
  }
  return is_used ? impl_->store->memory(buffer.slot) : nullptr;
}

Status Session::write_own(const PersistentBuffer& buffer, std::span<const std::byte> from) {
  return impl_->write_stored(buffer, from);
}

Status Session::read_tensor(const std::string& name, void* data, std::uint64_t bytes) {
  BALEEN_TRY_ASSIGN(const PersistentBuffer* buffer, impl_->tensor(name, bytes));
  if (buffer->spec.layout.empty()) return impl_->read_stored(*buffer, 0, {static_cast<std::byte*>(data), bytes});
  BALEEN_TRY_ASSIGN(const std::vector<std::byte> own, read_own(name));
  if (!impl_->gather) impl_->gather = std::make_unique<ShardGather>(*impl_->options.communicator);
  const ValueType& type = buffer->spec.type;
  return impl_->gather->run(type.shape, buffer->spec.layout, dtype_size(type.dtype), own,
                            static_cast<std::byte*>(data));
}

Status Session::write_tensor(const std::string& name, const void* data, std::uint64_t bytes) {
  BALEEN_TRY_ASSIGN(const PersistentBuffer* buffer, impl_->tensor(name, bytes));
  if (buffer->spec.layout.empty()) return impl_->write_stored(*buffer, {static_cast<const std::byte*>(data), bytes});
  const Communicator& ranks = *impl_->options.communicator;
  const ValueType& type = buffer->spec.type;
  std::vector<std::byte> own(buffer->bytes);
  cut_out(type.shape, piece_of(type.shape, buffer->spec.layout, ranks.mesh(), ranks.at()), dtype_size(type.dtype),
          static_cast<const std::byte*>(data), own.data());
  return impl_->write_stored(*buffer, own);
}

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

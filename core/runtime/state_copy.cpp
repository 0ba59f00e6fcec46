/// \file Copies persistent tensors to the host and back.
#include "core/runtime/state_copy.hpp"

#include "baleen/available_memory.hpp"

namespace baleen {

std::unique_ptr<Session::Impl::StateCopy> Session::Impl::StateCopy::of(Impl& session) {
  std::uint64_t bytes = 0;
  for (const PersistentBuffer& buffer : session.persistent.buffers) bytes += buffer.bytes;
  // The other ranks of this host do the same.
  if (bytes > sdk::available_memory() / 2 / static_cast<std::uint64_t>(session.options.local_ranks)) return nullptr;
  auto copy = std::make_unique<StateCopy>();
  for (const PersistentBuffer& buffer : session.persistent.buffers) {
    std::vector<std::byte>& tensor = copy->tensors_.emplace_back(buffer.bytes);
    if (buffer.bytes > 0 && !session.read_stored(buffer, 0, tensor)) return nullptr;
  }
  return copy;
}

Status Session::Impl::StateCopy::give_back(Impl& session) const {
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (!tensors_[i].empty()) BALEEN_TRY(session.write_stored(session.persistent.buffers[i], tensors_[i]));
  return {};
}

}  // namespace baleen

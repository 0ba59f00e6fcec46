/// \file Pieces of tensors to a checkpoint plugin, or to memory, and their digests.
#include "frontend/checkpoint/tensor_writer.hpp"

#define XXH_STATIC_LINKING_ONLY  // states that lie in others
#include <xxhash.h>
#ifdef BALEEN_XXHASH_DISPATCHES
#include <xxh_x86dispatch.h>
#endif

#include <algorithm>
#include <vector>

#include "baleen/checkpoint.h"
#include "baleen/dtype.hpp"
#include "baleen/plugin.hpp"
#include "core/input/links.hpp"
#include "frontend/checkpoint/tensor_files.hpp"
#include "frontend/checkpoint/tensor_format.hpp"

namespace baleen {
namespace {

std::uint64_t bytes_of(const ValueType& type) {
  return static_cast<std::uint64_t>(element_count(type.shape)) * dtype_size(type.dtype);
}

Result<const baleen_checkpoint_pieces_t*> pieces_of(const TensorFormat& format) {
  const void* const found = format.table->query ? format.table->query(abi(BALEEN_CHECKPOINT_PIECES)) : nullptr;
  const auto* const pieces = static_cast<const baleen_checkpoint_pieces_t*>(found);
  if (pieces && (pieces->size < sizeof *pieces || !pieces->begin || !pieces->append || !pieces->commit || !pieces->end))
    return internal(title_of(format.plugin.descriptor()) + " lacks functions of " + BALEEN_CHECKPOINT_PIECES);
  return pieces;
}

}  // namespace

struct TensorWriter::Impl {
  struct Tensor {
    ValueType type;
    std::uint64_t number = 0, told = 0;  ///< `told`: bytes
    XXH3_state_t digest{};
  };

  const Registry* plugins;
  std::string path;
  TensorFormat format;
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> facts;
  const baleen_checkpoint_pieces_t* pieces = nullptr;
  void* writer = nullptr;
  HostTensors kept;  ///< where there are no pieces

  Status begin() {
    std::vector<baleen_named_tensor_t> list;
    for (const auto& [name, tensor] : tensors)
      list.emplace_back(abi_tensor(name, tensor.type.dtype, tensor.type.shape)).bytes = bytes_of(tensor.type);
    const std::vector<baleen_string_t> pairs = abi_facts(facts);
    const std::string place = behind_links(path).string();
    return format.plugin.check(
        pieces->begin(format.plugin.host(), abi(place), list.data(), list.size(), pairs.data(), facts.size(), &writer));
  }
};

TensorWriter::TensorWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TensorWriter::~TensorWriter() {
  if (impl_->writer) impl_->pieces->end(impl_->writer);
}

Result<std::unique_ptr<TensorWriter>> TensorWriter::begin(const Registry& plugins, const std::string& path,
                                                          const std::map<std::string, ValueType>& tensors,
                                                          std::map<std::string, std::string> facts) {
  BALEEN_TRY_ASSIGN(TensorFormat format, tensor_format_of(plugins, path));
  auto impl =
      std::make_unique<Impl>(Impl{&plugins, path, std::move(format), {}, std::move(facts), nullptr, nullptr, {}});
  std::uint64_t number = 0;
  for (const auto& [name, type] : tensors) {
    Impl::Tensor& tensor = impl->tensors[name];
    tensor.type = type;
    tensor.number = number++;
    XXH3_64bits_reset(&tensor.digest);
  }
  BALEEN_TRY_ASSIGN(impl->pieces, pieces_of(impl->format));
  if (impl->pieces)
    BALEEN_TRY(impl->begin());
  else
    for (const auto& [name, tensor] : impl->tensors) impl->kept[name] = {tensor.type.dtype, tensor.type.shape, {}};
  return std::unique_ptr<TensorWriter>(new TensorWriter(std::move(impl)));
}

Status TensorWriter::append(const std::string& name, std::span<const std::byte> bytes) {
  Impl::Tensor& tensor = impl_->tensors.at(name);
  XXH3_64bits_update(&tensor.digest, bytes.data(), bytes.size());
  tensor.told += bytes.size();
  if (impl_->pieces)
    return impl_->format.plugin.check(impl_->pieces->append(impl_->writer, tensor.number, bytes.data(), bytes.size()));
  std::vector<std::byte>& kept = impl_->kept.at(name).bytes;
  if (kept.empty()) kept.reserve(bytes_of(tensor.type));
  kept.insert(kept.end(), bytes.begin(), bytes.end());
  return {};
}

Status TensorWriter::commit() {
  if (impl_->pieces) return impl_->format.plugin.check(impl_->pieces->commit(impl_->writer));
  return write_tensor_file(*impl_->plugins, impl_->path, impl_->kept, impl_->facts);
}

bool TensorWriter::is_there() const {
  const auto file = open_tensor_files(*impl_->plugins, {impl_->path});
  if (!file || (*file)->tensors().size() != impl_->tensors.size()) return false;
  const auto has_fact = [&](const auto& fact) {
    const auto there = (*file)->facts().find(fact.first);
    return there != (*file)->facts().end() && there->second == fact.second;
  };
  const auto has_tensor = [&](const auto& one) {
    const auto& [name, tensor] = one;
    const auto type = (*file)->tensors().find(name);
    if (tensor.told != bytes_of(tensor.type) || type == (*file)->tensors().end() ||
        type->second.dtype != tensor.type.dtype || type->second.shape != tensor.type.shape)
      return false;
    const Result<HostTensor> there = (*file)->read(name);
    return there && XXH3_64bits(there->bytes.data(), there->bytes.size()) == XXH3_64bits_digest(&tensor.digest);
  };
  return std::ranges::all_of(impl_->facts, has_fact) && std::ranges::all_of(impl_->tensors, has_tensor);
}

}  // namespace baleen

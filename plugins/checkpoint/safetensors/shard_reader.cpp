/// \file Any piece of a tensor, gathered from those that were written.
#include "shard_reader.hpp"

#include <algorithm>
#include <filesystem>

#include "baleen/dtype.hpp"

namespace baleen::safetensors {

Result<std::unique_ptr<ShardReader>> ShardedReader::open(const Host& host, const std::string& folder) {
  auto reader = std::make_unique<ShardedReader>();
  reader->host_ = host;
  reader->folder_ = folder;
  BALEEN_TRY_ASSIGN(reader->index_, read_index(folder));
  const ShardIndex& index = reader->index_;
  for (std::size_t i = 0; i < index.file_bytes.size(); ++i) {
    const std::string path = folder + "/" + index.file_name(i);
    std::error_code failure;
    const auto bytes = std::filesystem::file_size(path, failure);
    if (failure)
      return Error{BALEEN_NOT_FOUND,
                   "cannot be read (" + failure.message() +
                       "), and is part of the checkpoint; bring it back, or take " + "another checkpoint",
                   path};
    if (bytes != index.file_bytes[i])
      return Error{BALEEN_IO,
                   "has " + std::to_string(bytes) + " bytes, and had " + std::to_string(index.file_bytes[i]) +
                       " when the checkpoint was committed; bring it back, or take another checkpoint",
                   path};
  }
  for (const auto& [name, tensor] : index.tensors)
    reader->tensors_.push_back({name, tensor.dtype, tensor.shape,
                                static_cast<std::uint64_t>(*elements_of(tensor.shape)) * dtype_size(tensor.dtype)});
  reader->files_.resize(index.file_bytes.size());
  return std::unique_ptr<ShardReader>(std::move(reader));
}

Result<std::pair<const Reader*, std::size_t>> ShardedReader::find(const std::string& name,
                                                                  const ShardIndex::Piece& piece) {
  const std::string path = folder_ + "/" + index_.file_name(piece.file);
  auto& file = files_[piece.file];
  if (!file) {
    BALEEN_TRY_ASSIGN(file, Reader::open(host_, path));
  }
  const auto& tensors = file->tensors();
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const StoredTensor& stored) { return stored.name == name; });
  if (found == tensors.end() || found->dtype != index_.tensors.at(name).dtype ||
      found->shape != piece.region.local_shape())
    return invalid("tensor `" + name + "`: the file has not the piece that " + std::string(kIndexName) +
                       " says it has; it was replaced after the commit",
                   path);
  return std::pair(static_cast<const Reader*>(file.get()), static_cast<std::size_t>(found - tensors.begin()));
}

Status ShardedReader::read(const Shard& shard) {
  const auto found = index_.tensors.find(shard.name);
  if (found == index_.tensors.end()) return Error{BALEEN_NOT_FOUND, "has no tensor `" + shard.name + "`", folder_};
  const ShardIndex::Tensor& tensor = found->second;
  if (tensor.dtype != shard.dtype || tensor.shape != shard.shape)
    return invalid("tensor `" + shard.name + "` is " + type_text(tensor.dtype, tensor.shape) +
                       ", and was asked for as " + type_text(shard.dtype, shard.shape),
                   folder_);
  auto region = Region::of(shard.shape, shard.ranges, shard.flat);
  if (!region) return invalid("tensor `" + shard.name + "`: " + region.error().message);
  const std::uint64_t size = dtype_size(shard.dtype);
  if (static_cast<std::uint64_t>(region->elements()) * size != shard.data.size())
    return internal("tensor `" + shard.name + "`: " + std::to_string(shard.data.size()) + " bytes of memory for " +
                    std::to_string(region->elements()) + " elements");
  auto held = held_stretches(index_, shard.name);
  if (!held) return invalid(held.error().message, folder_ + "/" + kIndexName);
  for (const Stretch& wanted : stretches(*region)) {
    auto from = std::upper_bound(held->begin(), held->end(), wanted.global,
                                 [](std::int64_t at, const HeldStretch& h) { return at < h.global + h.length; });
    for (std::int64_t done = 0; done < wanted.length; ++from) {
      const std::int64_t skipped = wanted.global + done - from->global;
      const std::int64_t length = std::min(wanted.length - done, from->length - skipped);
      BALEEN_TRY_ASSIGN(const auto place, find(shard.name, tensor.pieces[from->piece]));
      BALEEN_TRY(place.first->read_part(place.second, static_cast<std::uint64_t>(from->local + skipped) * size,
                                        shard.data.subspan(static_cast<std::uint64_t>(wanted.local + done) * size,
                                                           static_cast<std::uint64_t>(length) * size)));
      done += length;
    }
  }
  return {};
}

}  // namespace baleen::safetensors

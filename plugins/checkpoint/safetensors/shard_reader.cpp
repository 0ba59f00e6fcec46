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
  for (std::size_t i = 0; i < index.files.size(); ++i) {
    const std::string path = folder + "/" + index.file_name(i);
    std::error_code failure;
    const auto bytes = std::filesystem::file_size(path, failure);
    if (failure)
      return Error{BALEEN_NOT_FOUND,
                   "cannot be read (" + failure.message() +
                       "), and is part of the checkpoint; bring it back, or take " + "another checkpoint",
                   path};
    if (bytes != index.files[i].bytes)
      return Error{BALEEN_IO,
                   "has " + std::to_string(bytes) + " bytes, and had " + std::to_string(index.files[i].bytes) +
                       " when the checkpoint was committed; bring it back, or take another checkpoint",
                   path};
  }
  for (const auto& [name, tensor] : index.tensors)
    reader->tensors_.push_back({name, tensor.dtype, tensor.shape,
                                static_cast<std::uint64_t>(*elements_of(tensor.shape)) * dtype_size(tensor.dtype)});
  reader->files_.resize(index.files.size());
  return std::unique_ptr<ShardReader>(std::move(reader));
}

Result<const ShardedReader::OpenFile*> ShardedReader::file(std::size_t writer) {
  OpenFile& file = files_[writer];
  if (file.reader) return &file;
  BALEEN_TRY_ASSIGN(file.reader, Reader::open(host_, path_of(writer)));
  if (static_cast<const Reader&>(*file.reader).header_checksum() != index_.files[writer].header)
    return Error{BALEEN_IO,
                 "its header is damaged: it has another checksum than at the commit; take another checkpoint",
                 path_of(writer)};
  const auto& tensors = file.reader->tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) file.numbers.emplace(tensors[i].name, i);
  return &file;
}

Result<std::pair<const Reader*, std::size_t>> ShardedReader::find(const std::string& name,
                                                                  const ShardIndex::Piece& piece) {
  BALEEN_TRY_ASSIGN(const OpenFile* const opened, file(piece.file));
  const auto found = opened->numbers.find(name);
  const StoredTensor* const stored =
      found == opened->numbers.end() ? nullptr : &opened->reader->tensors()[found->second];
  if (!stored || stored->dtype != index_.tensors.at(name).dtype || stored->shape != piece.region.local_shape())
    return invalid("tensor `" + name + "`: the file has not the piece that " + std::string(kIndexName) +
                       " says it has; it was replaced after the commit",
                   path_of(piece.file));
  return std::pair(static_cast<const Reader*>(opened->reader.get()), found->second);
}

Status ShardedReader::verify() {
  std::vector<std::byte> bytes;
  for (const auto& [name, tensor] : index_.tensors)
    for (const ShardIndex::Piece& piece : tensor.pieces) {
      BALEEN_TRY_ASSIGN(const auto place, find(name, piece));
      bytes.resize(static_cast<std::size_t>(piece.region.elements()) * dtype_size(tensor.dtype));
      BALEEN_TRY(place.first->read(place.second, bytes));
      if (checksum_of(bytes) != piece.checksum)
        return Error{BALEEN_IO,
                     "tensor `" + name +
                         "` is damaged: its bytes have another checksum than when they were written; "
                         "take another checkpoint",
                     path_of(piece.file)};
    }
  return {};
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

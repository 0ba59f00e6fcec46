/// \file A committed folder of shards.
#pragma once
#include "reader.hpp"
#include "shard_index.hpp"

namespace baleen::safetensors {

/// Sizes of files are compared when it is opened; a file's header is read when a piece of it is first wanted.
class ShardedReader : public ShardReader {
 public:
  static Result<std::unique_ptr<ShardReader>> open(const Host& host, const std::string& folder);

  const std::vector<StoredTensor>& tensors() const override { return tensors_; }
  const Facts& facts() const override { return index_.facts; }
  Status read(const Shard& shard) override;
  /// Reads all files and compares all checksums; names file and tensor of the first that is wrong.
  Status verify();

 private:
  /// A writer's file, and where in it which tensor is.
  struct OpenFile {
    std::unique_ptr<CheckpointReader> reader;
    std::map<std::string_view, std::size_t> numbers;
  };
  std::string path_of(std::size_t writer) const { return folder_ + "/" + index_.file_name(writer); }
  Result<const OpenFile*> file(std::size_t writer);
  /// The file with the piece of this tensor, and its number there.
  Result<std::pair<const Reader*, std::size_t>> find(const std::string& name, const ShardIndex::Piece& piece);

  Host host_;
  std::string folder_;
  ShardIndex index_;
  std::vector<StoredTensor> tensors_;
  std::vector<OpenFile> files_;  // by writer; without reader: not opened yet
};

}  // namespace baleen::safetensors

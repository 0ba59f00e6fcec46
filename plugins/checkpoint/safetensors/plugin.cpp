/// \file The checkpoint plugin `safetensors`: its descriptor and its start.
#include "reader.hpp"
#include "shard_reader.hpp"
#include "shard_writer.hpp"
#include "writer.hpp"

BALEEN_DESCRIPTOR("checkpoint", "safetensors", "1.0.0", "Apache-2.0", "Hugging Face's safetensors files", 10,
                  "safetensors", BALEEN_NO_OPTIONS);

namespace {

struct Safetensors {
  static baleen::Status write(const baleen::Host&, std::string_view path,
                              std::span<const baleen_named_tensor_t> tensors, const baleen::sdk::Facts& facts) {
    return baleen::safetensors::write_file(path, tensors, facts);
  }
  static baleen::Result<std::unique_ptr<baleen::sdk::PieceWriter>> begin(const baleen::Host&, std::string_view path,
                                                                         std::span<const baleen_named_tensor_t> tensors,
                                                                         const baleen::sdk::Facts& facts) {
    return baleen::safetensors::begin_file(path, tensors, facts);
  }
  static baleen::Result<std::unique_ptr<baleen::sdk::CheckpointReader>> open(const baleen::Host& host,
                                                                             std::string_view path) {
    return baleen::safetensors::Reader::open(host, path);
  }
  static baleen::Status write_shards(const baleen::Host&, std::string_view folder,
                                     const baleen::sdk::ShardWriter& writer,
                                     std::span<const baleen::sdk::Shard> shards) {
    return baleen::safetensors::write_shards(std::string(folder), writer, shards);
  }
  static baleen::Status commit_shards(const baleen::Host& host, std::string_view folder, std::string_view attempt,
                                      std::int32_t writers, const baleen::sdk::Facts& facts) {
    return baleen::safetensors::commit_shards(host, std::string(folder), std::string(attempt), writers, facts);
  }
  static baleen::Result<std::unique_ptr<baleen::sdk::ShardReader>> open_shards(const baleen::Host& host,
                                                                               std::string_view folder) {
    return baleen::safetensors::ShardedReader::open(host, std::string(folder));
  }
  static baleen::Status remove_shards(const baleen::Host&, std::string_view folder) {
    return baleen::safetensors::remove_shards(std::string(folder));
  }
  static baleen::Status verify_shards(const baleen::Host& host, std::string_view folder) {
    BALEEN_TRY_ASSIGN(const auto opened, baleen::safetensors::ShardedReader::open(host, std::string(folder)));
    return static_cast<baleen::safetensors::ShardedReader&>(*opened).verify();
  }
};

}  // namespace

BALEEN_CHECKPOINT(Safetensors);

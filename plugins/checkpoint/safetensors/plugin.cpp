/// \file The checkpoint plugin `safetensors`: its descriptor and its start.
#include "reader.hpp"
#include "writer.hpp"

BALEEN_DESCRIPTOR("checkpoint", "safetensors", "1.0.0", "Apache-2.0", "Hugging Face's safetensors files", 10,
                  "safetensors", BALEEN_NO_OPTIONS);

namespace {

struct Safetensors {
  static baleen::Status write(const baleen::Host&, std::string_view path,
                              std::span<const baleen_named_tensor_t> tensors, const baleen::sdk::Facts& facts) {
    return baleen::safetensors::write_file(path, tensors, facts);
  }
  static baleen::Result<std::unique_ptr<baleen::sdk::CheckpointReader>> open(const baleen::Host& host,
                                                                             std::string_view path) {
    return baleen::safetensors::Reader::open(host, path);
  }
};

}  // namespace

BALEEN_CHECKPOINT(Safetensors);

/// \file An open safetensors file.
#pragma once
#include "baleen/checkpoint.hpp"
#include "baleen/file_handle.hpp"
#include "file.hpp"
#include "header.hpp"

namespace baleen::safetensors {

using namespace sdk;

/// Validated when opened; tensors of a dtype that Baleen lacks (BOOL, F8, ...) are left out of the list with a warning.
class Reader : public CheckpointReader {
 public:
  static Result<std::unique_ptr<CheckpointReader>> open(const Host& host, std::string_view path);

  const std::vector<StoredTensor>& tensors() const override { return tensors_; }
  const Facts& facts() const override { return facts_; }
  Status read(std::size_t number, std::span<std::byte> out) const override { return read_part(number, 0, out); }
  /// From this byte of the tensor on, which has as many.
  Status read_part(std::size_t number, std::uint64_t from, std::span<std::byte> out) const;
  /// XXH3 (64 bits) of the header, seeded with its length.
  std::uint64_t header_checksum() const { return header_checksum_; }

 private:
  void list(const Host& host, Header header, std::uint64_t buffer);

  FileHandle file_;
  std::string path_;
  std::uint64_t header_checksum_ = 0;
  std::vector<StoredTensor> tensors_;
  std::vector<std::uint64_t> places_;  // of each tensor, in the file
  Facts facts_;
};

}  // namespace baleen::safetensors

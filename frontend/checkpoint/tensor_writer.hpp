/// \file A file of tensors that are told piece by piece.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "core/plugin/registry.hpp"
#include "core/runtime/host_tensor.hpp"

namespace baleen {

/// Destroyed, what was not committed is gone. Where the plugin of the file's ending takes no pieces (checkpoint.h),
/// they are kept in memory until the end. [one thread]
class TensorWriter {
 public:
  /// Of tensors of these names and types; `facts` become the file's metadata. The registry outlives the writer.
  static Result<std::unique_ptr<TensorWriter>> begin(const Registry& plugins, const std::string& path,
                                                     const std::map<std::string, ValueType>& tensors,
                                                     std::map<std::string, std::string> facts);
  ~TensorWriter();
  TensorWriter(const TensorWriter&) = delete;

  /// The next bytes of a tensor, row-major. Tensors may come in any order; the file's own is the fastest.
  Status append(const std::string& name, std::span<const std::byte> bytes);
  /// All or nothing, when all bytes are there; where the file's folder alone cannot be synced the file is there in
  /// spite of the error.
  Status commit();
  /// Whether the file has what was told, and nothing else, as far as it can be read.
  bool is_there() const;

 private:
  struct Impl;
  explicit TensorWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace baleen

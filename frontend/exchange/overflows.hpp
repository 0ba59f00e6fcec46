/// \file Which numbers a conversion makes infinite, since the dtype that they are to have holds none so great.
#pragma once
#include <cstdint>
#include <string>

#include "core/runtime/host_tensor.hpp"

namespace baleen {

/// Of the tensors of one command. [one thread]
class Overflows {
 public:
  /// As `with_dtype`, of the tensor of that name; counts its finite numbers that are infinite, or NaN, afterwards.
  Result<HostTensor> convert(const std::string& name, HostTensor tensor, baleen_dtype_t dtype);
  /// For people: the tensor with the most of them, how many these are, and how many others have some. Empty: none has.
  std::string text() const;

 private:
  std::string worst_;
  std::int64_t most_ = 0, all_ = 0, tensors_ = 0;
  baleen_dtype_t dtype_ = BALEEN_F32;
};

}  // namespace baleen

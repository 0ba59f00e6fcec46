/// \file Tensors in host memory: what callers give to a program and get from it.
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "baleen/result.hpp"
#include "compiler/graph/graph.hpp"

namespace baleen {

/// A whole tensor, row-major.
struct HostTensor {
  baleen_dtype_t dtype = BALEEN_F32;
  Shape shape;
  std::vector<std::byte> bytes;
};
using HostTensors = std::map<std::string, HostTensor>;

/// The elements as numbers.
std::vector<double> numbers_of(const HostTensor& tensor);
/// Elements of `dtype` with these values. INVALID, naming the value, where an integer dtype cannot hold it.
Result<HostTensor> tensor_of(const std::vector<double>& numbers, baleen_dtype_t dtype, Shape shape);
/// The same values in another floating dtype, rounded to nearest. UNSUPPORTED for other dtypes, unless they are equal.
Result<HostTensor> with_dtype(HostTensor tensor, baleen_dtype_t dtype);

/// "fp32 [2, 8]".
std::string type_text(baleen_dtype_t dtype, const Shape& shape);

}  // namespace baleen

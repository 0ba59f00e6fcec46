/// \file The kernels that a kind of op may bring itself: a call on the host's processors, and CUDA text with what helps
/// to write it. Included by op_kind.hpp. DRAFT, as op_kind.h.
#pragma once
#include <array>
#include <string>
#include <string_view>

#include "baleen/compute.hpp"
#include "baleen/op_kind.h"

namespace baleen::sdk {

/// One execution of an op on the host's processors.
class CpuCall {
 public:
  explicit CpuCall(const baleen_cpu_call_t& call) : call_(call) {}

  Op op() const { return Op(*call_.op); }
  const baleen_tensor_t& input(std::size_t number) const { return element(call_.tensors, call_.op->inputs[number]); }
  const baleen_tensor_t& output(std::size_t number) const { return element(call_.tensors, call_.op->outputs[number]); }
  /// The first element of an operand or result, of its dtype.
  const void* input_at(std::size_t number) const { return call_.addresses[call_.op->inputs[number]]; }
  void* output_at(std::size_t number) const { return call_.addresses[call_.op->outputs[number]]; }
  std::uint64_t seed() const { return call_.seed; }
  std::uint64_t step() const { return call_.step; }

  /// Runs body(i) for each i < count on the device's threads, in any order. It must not throw.
  template <class Body>
  void parallel(std::uint64_t count, const Body& body) const {
    call_.parallel(
        call_.pool, count, [](void* context, std::uint64_t i) { (*static_cast<const Body*>(context))(i); },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  const baleen_cpu_call_t& call_;
};

/// A kernel as CUDA text, and its launch (baleen_cuda_text_t).
struct CudaText {
  std::string source, entry;
  std::array<std::uint64_t, 3> blocks{1, 1, 1};
  std::uint32_t threads = 256;
  std::uint64_t shared_bytes = 0;
};

/// What a CUDA text is asked for.
class CudaRequest {
 public:
  explicit CudaRequest(const baleen_cuda_request_t& request) : request_(request) {}

  Op op() const { return Op(*request_.op); }
  const baleen_tensor_t& input(std::size_t number) const { return tensor(request_.op->inputs[number]); }
  const baleen_tensor_t& output(std::size_t number) const { return tensor(request_.op->outputs[number]); }
  /// The first element of an operand or result as text: "((const float*)args.tensor[0])".
  std::string input_at(std::size_t number) const { return at("const ", request_.op->inputs[number]); }
  std::string output_at(std::size_t number) const { return at("", request_.op->outputs[number]); }
  std::uint64_t shared_bytes() const { return request_.shared_bytes; }
  int compute_capability() const { return static_cast<int>(request_.compute_capability); }

 private:
  const baleen_tensor_t& tensor(std::uint32_t number) const { return element(request_.tensors, number); }
  std::string at(const char* before, std::uint32_t number) const;

  const baleen_cuda_request_t& request_;
};

/// The C++ type of an element in CUDA text.
inline const char* cuda_type(baleen_dtype_t dtype) {
  switch (dtype) {
    case BALEEN_F64: return "double";
    case BALEEN_F16: return "baleen::f16";
    case BALEEN_BF16: return "baleen::bf16";
    case BALEEN_I32: return "int";
    case BALEEN_I64: return "long long";
    case BALEEN_U8:
    case BALEEN_E4M3:
    case BALEEN_E5M2: return "unsigned char";
    default: return "float";
  }
}

inline std::string CudaRequest::at(const char* before, std::uint32_t number) const {
  return "((" + std::string(before) + cuda_type(tensor(number).dtype) + "*)args.tensor[" + std::to_string(number) +
         "])";
}

/// Lines of CUDA text that make the coordinates i0, i1, … of an element from its row-major position, a long long called
/// `position`. `skipped` leaves one dimension out, as one that a loop goes along.
inline std::string cuda_coordinates(const baleen_tensor_t& tensor, std::uint32_t skipped = BALEEN_MAX_RANK) {
  std::string lines = "  long long rest = position;\n";
  for (std::uint32_t d = tensor.rank; d-- > 0;) {
    if (d == skipped) continue;
    const std::string n = std::to_string(d), extent = std::to_string(tensor.shape[d] > 0 ? tensor.shape[d] : 1) + "ll";
    lines += "  const long long i" + n + " = rest % " + extent + ";\n  rest /= " + extent + ";\n";
  }
  return lines;
}

/// CUDA text of an element's offset, in elements, by those coordinates: "i0 * 12ll + i2 * 1ll".
inline std::string cuda_offset(const baleen_tensor_t& tensor, std::uint32_t skipped = BALEEN_MAX_RANK) {
  std::string text;
  for (std::uint32_t d = 0; d < tensor.rank; ++d)
    if (d != skipped && tensor.stride[d] != 0 && tensor.shape[d] != 1)
      text += (text.empty() ? "i" : " + i") + std::to_string(d) + " * " + std::to_string(tensor.stride[d]) + "ll";
  return text.empty() ? "0" : text;
}

}  // namespace baleen::sdk

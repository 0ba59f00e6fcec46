/// \file Kinds of ops that compute y = x and write somewhere else too, on the host's processors or by CUDA text; and
/// one whose CUDA text is no C++.
#include <cstring>

#include "baleen/op_kind.hpp"

BALEEN_DESCRIPTOR("op", "careless", "1.0.0", "Apache-2.0", "kinds for tests", 0, "", BALEEN_NO_OPTIONS);
BALEEN_OPS();

namespace {

using namespace baleen;
using namespace baleen::sdk;

/// y = x. Elements lie together in all tests.
class Same : public sdk::OpKind {
 public:
  explicit Same(const char* name) : OpKind(name, "x") {
    operand("x", "any shape");
    result("y", "the shape of x");
  }
  Result<std::vector<sdk::ValueType>> infer(const sdk::InferInput& input) override {
    return std::vector{input.type(0)};
  }
  Result<std::vector<baleen_value_t>> gradient(GraphView&, baleen_op_t, std::span<const baleen_value_t> cotangents,
                                               std::span<const std::uint8_t>) override {
    return std::vector(cotangents.begin(), cotangents.end());
  }

 protected:
  /// Copies, and gives the first byte behind the result.
  static char* copy(const sdk::CpuCall& call) {
    const baleen_tensor_t& y = call.output(0);
    const auto bytes = static_cast<std::size_t>(elements(y)) * dtype_size(y.dtype);
    std::memcpy(call.output_at(0), call.input_at(0), bytes);
    return static_cast<char*>(call.output_at(0)) + bytes;
  }
  /// Copies up to `last`.
  static sdk::CudaText text(const sdk::CudaRequest& request, const std::string& last) {
    sdk::CudaText text;
    text.entry = "same";
    text.source = "BALEEN_KERNEL(1, same, baleen::Args) {\n  for (long long i = 0; i < " + last + "; ++i)\n    " +
                  request.output_at(0) + "[i] = " + request.input_at(0) + "[i];\n}\n";
    text.threads = 1;
    return text;
  }
};

class Behind : public Same {
 public:
  Behind() : Same("behind") {}
  Status compute(const sdk::CpuCall& call) override {
    *copy(call) = 1;
    return {};
  }
  Result<sdk::CudaText> cuda(const sdk::CudaRequest& request) override {
    return text(request, std::to_string(elements(request.output(0)) + 1));
  }
};
BALEEN_OP_KIND(Behind);

class Into : public Same {
 public:
  Into() : Same("into") {}
  Status compute(const sdk::CpuCall& call) override {
    copy(call);
    const_cast<char*>(static_cast<const char*>(call.input_at(0)))[2] ^= 1;
    return {};
  }
};
BALEEN_OP_KIND(Into);

class Nonsense : public Same {
 public:
  Nonsense() : Same("nonsense") {}
  Status compute(const sdk::CpuCall& call) override {
    copy(call);
    return {};
  }
  Result<sdk::CudaText> cuda(const sdk::CudaRequest& request) override { return text(request, "no_such_name"); }
};
BALEEN_OP_KIND(Nonsense);

}  // namespace

/// \file The definitions of the kinds as functions of tensors.
#pragma once
#include <map>
#include <string>

#include "compiler/graph/graph.hpp"
#include "support/reference_tensor.hpp"

namespace baleen::test {

/// What a kernel is given. `outputs` come zeroed and shaped.
struct Call {
  const Op& op;
  std::vector<const Tensor*> inputs;
  std::vector<Tensor> outputs;
  std::vector<baleen_dtype_t> dtypes;  ///< of the outputs
  std::uint64_t seed, step;

  const Tensor& in(std::size_t i) const { return *inputs.at(i); }
  Tensor& out(std::size_t i) { return outputs.at(i); }
};
using Kernel = void (*)(Call& call);

/// Results of 16 bits become what is stored of them.
void round_halves(Call& call);

void add_basic_kernels(std::map<std::string, Kernel>& kernels);
void add_network_kernels(std::map<std::string, Kernel>& kernels);
void add_attention_kernels(std::map<std::string, Kernel>& kernels);

}  // namespace baleen::test

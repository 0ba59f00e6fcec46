/// \file What the ways of computing a pointwise op share.
#pragma once
#include <span>
#include <vector>

#include "kernel.hpp"
#include "walk.hpp"

namespace baleen::cpu {

/// Inputs and outputs of a pointwise op, walked together through the outputs' shape.
struct PointwiseOperands {
  std::vector<Operand> inputs, outputs;

  /// Operands: inputs, then outputs; an input's stride is 0 where it is broadcast.
  Walk walk() const {
    std::vector<std::vector<std::int64_t>> all;
    for (const std::vector<Operand>* operands : {&inputs, &outputs})
      for (const Operand& x : *operands) all.push_back(broadcast_strides(x));
    return Walk(shape(outputs[0].tensor), all);
  }

  /// Every output may have the bytes of any input that lies like it.
  std::vector<baleen_alias_t> aliases() const {
    std::vector<baleen_alias_t> found;
    for (const Operand& y : outputs)
      for (const Operand& x : inputs)
        if (same_layout(y.tensor, x.tensor)) found.push_back({y.number, x.number});
    return found;
  }

 private:
  std::vector<std::int64_t> broadcast_strides(const Operand& x) const {
    const Operand& y = outputs[0];
    std::vector<std::int64_t> out(y.rank(), 0);
    for (std::uint32_t d = 0; d < x.rank() && d < y.rank(); ++d)
      out[d] = x.extent(d) == 1 && y.extent(d) != 1 ? 0 : x.stride(d);
    return out;
  }
};

/// A kernel of machine code for a checked expression; null where there is none for this expression, these operands or
/// this processor.
template <class T>
std::unique_ptr<Kernel> make_fused_pointwise(const Context& context, const PointwiseOperands& operands,
                                             std::span<const baleen_instruction_t> code,
                                             std::span<const std::int64_t> results);

}  // namespace baleen::cpu

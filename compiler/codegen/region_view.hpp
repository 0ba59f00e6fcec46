/// \file A region in the form in which it crosses the ABI, with the memory behind the borrowed pointers.
#pragma once
#include <deque>
#include <vector>

#include "baleen/compute.h"
#include "compiler/codegen/lowered.hpp"
#include "compiler/graph/abi.hpp"

namespace baleen {

/// Borrows the ops, which must stay put. Values without a view yet are shown as contiguous.
class RegionView {
 public:
  /// `interior`: results that do not leave the region.
  RegionView(const Lowered& lowered, const std::vector<const Op*>& ops, const std::vector<LowValue>& interior = {});
  RegionView(const RegionView&) = delete;
  RegionView& operator=(const RegionView&) = delete;

  const baleen_region_t* get() const { return &region_; }
  /// By tensor number.
  const std::vector<LowValue>& values() const { return values_; }
  const std::vector<baleen_tensor_t>& tensors() const { return tensors_; }

 private:
  std::vector<std::uint32_t> numbers(const Lowered& lowered, const std::vector<LowValue>& values);

  std::vector<LowValue> values_;
  std::vector<baleen_tensor_t> tensors_;
  std::deque<AbiOp> ops_;
  std::vector<baleen_op_view_t> views_;
  std::vector<const baleen_op_kind_t*> kinds_;
  baleen_region_t region_{};
};

}  // namespace baleen

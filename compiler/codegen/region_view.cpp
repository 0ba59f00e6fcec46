/// \file Fills the view of a region that a device is shown.
#include "compiler/codegen/region_view.hpp"

#include <algorithm>

namespace baleen {
namespace {

baleen_tensor_t tensor_of(const Lowered& lowered, LowValue number) {
  const LoweredValue& value = lowered.values[number];
  const Strides strides = value.view.storage == kNone ? contiguous_strides(value.shape) : value.view.strides;
  baleen_tensor_t tensor{};
  tensor.size = sizeof(tensor);
  tensor.dtype = value.dtype;
  tensor.rank = static_cast<std::uint32_t>(value.shape.size());
  tensor.micro_dim = value.micro.dim;
  std::copy(value.shape.begin(), value.shape.end(), tensor.shape);
  std::copy(strides.begin(), strides.end(), tensor.stride);
  std::copy(value.global.begin(), value.global.end(), tensor.global_shape);
  if (value.micro.dim >= 0)
    tensor.micro_step = value.global[static_cast<std::size_t>(value.micro.dim)] / lowered.micro_batches;
  for (std::size_t d = 0; d < value.runs.size(); ++d) {
    tensor.runs[d] = value.runs[d].data();
    tensor.run_count[d] = static_cast<std::uint32_t>(value.runs[d].size());
  }
  if (value.view.storage != kNone && lowered.storage_of(number).kind == Storage::Kind::persistent)
    tensor.flags |= BALEEN_TENSOR_PERSISTENT;
  return tensor;
}

}  // namespace

RegionView::RegionView(const Lowered& lowered, const std::vector<const Op*>& ops,
                       const std::vector<LowValue>& interior) {
  auto contains = [](const std::vector<LowValue>& list, LowValue v) {
    return std::find(list.begin(), list.end(), v) != list.end();
  };
  std::vector<LowValue> made;
  for (const Op* op : ops) {
    auto inputs = numbers(lowered, op->inputs);
    auto outputs = numbers(lowered, op->outputs);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (!contains(made, op->inputs[i])) tensors_[inputs[i]].flags |= BALEEN_TENSOR_EXTERNAL_INPUT;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      made.push_back(op->outputs[i]);
      if (!contains(interior, op->outputs[i])) tensors_[outputs[i]].flags |= BALEEN_TENSOR_OUTPUT;
    }
    ops_.emplace_back().assign(*op, inputs, outputs);
    views_.push_back(ops_.back().view);
    kinds_.push_back(op->kind->table);
  }
  region_ = {sizeof(region_), views_.data(), views_.size(), tensors_.data(), tensors_.size(), kinds_.data()};
}

std::vector<std::uint32_t> RegionView::numbers(const Lowered& lowered, const std::vector<LowValue>& values) {
  std::vector<std::uint32_t> result;
  for (LowValue v : values) {
    auto it = std::find(values_.begin(), values_.end(), v);
    if (it == values_.end()) {
      tensors_.push_back(tensor_of(lowered, v));
      values_.push_back(v);
      it = values_.end() - 1;
    }
    result.push_back(static_cast<std::uint32_t>(it - values_.begin()));
  }
  return result;
}

}  // namespace baleen

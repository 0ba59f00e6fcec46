/// \file Making and reading values, views and storages of a lowered program.
#include "compiler/codegen/lowered.hpp"

#include "baleen/dtype.hpp"

namespace baleen {

std::uint32_t Lowered::root(std::uint32_t storage) const {
  while (storages[storage].merged_into != kNone) storage = storages[storage].merged_into;
  return storage;
}

bool Lowered::fills_storage(LowValue number) const {
  const LoweredValue& value = values[number];
  return value.view.offset == 0 && value.view.micro_step == 0 && is_contiguous(value.shape, value.view.strides) &&
         bytes(number) == storages[value.view.storage].bytes;
}

std::int64_t Lowered::elements(LowValue value) const {
  return values[value].held ? element_count(values[value].shape) : 0;
}

std::uint64_t Lowered::bytes(LowValue value) const {
  return static_cast<std::uint64_t>(elements(value)) * dtype_size(values[value].dtype);
}

Shape Lowered::step_shape(LowValue value) const {
  Shape shape = values[value].shape;
  if (const int dim = values[value].micro.dim; dim >= 0) shape[static_cast<std::size_t>(dim)] *= micro_batches;
  return shape;
}

bool Lowered::is_dense(LowValue number) const {
  const LoweredValue& value = values[number];
  return value.view.storage != kNone && value.view.micro_step == 0 && is_contiguous(value.shape, value.view.strides);
}

LowValue Lowered::add_value(LoweredValue value) {
  values.push_back(std::move(value));
  return static_cast<LowValue>(values.size() - 1);
}

LowOp Lowered::add_op(Op op, LoweringKind means, std::uint32_t section) {
  const auto number = static_cast<LowOp>(ops.size());
  for (LowValue v : op.outputs) values[v].producer = number;
  ops.push_back({std::move(op), means, section, {}});
  return number;
}

std::uint32_t Lowered::add_storage(Storage storage) {
  storages.push_back(std::move(storage));
  return static_cast<std::uint32_t>(storages.size() - 1);
}

std::vector<std::vector<LowOp>> Lowered::users() const {
  std::vector<std::vector<LowOp>> users(values.size());
  for (const LoweredSection& section : sections)
    for (LowOp op : section.ops)
      for (LowValue v : ops[op].op.inputs)
        if (users[v].empty() || users[v].back() != op) users[v].push_back(op);
  return users;
}

std::uint32_t Lowered::closing_section() {
  if (sections.empty() || sections.back().loop >= 0) sections.push_back({"update", Phase::update, -1, {}});
  return static_cast<std::uint32_t>(sections.size() - 1);
}

}  // namespace baleen

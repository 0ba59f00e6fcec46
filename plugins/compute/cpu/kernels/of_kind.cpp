/// \file The kernel that a kind of op from a plugin brings itself (baleen/op_kind.h), on this device's threads.
#include <deque>
#include <string>

#include "baleen/op_kind.h"
#include "kernels.hpp"

namespace baleen::cpu {
namespace {

/// A copy of the op and the tensors of a region, whose pointers are borrowed for `compile` alone.
class KernelOfKind : public Kernel {
 public:
  KernelOfKind(const Context& context, const baleen_region_t& region)
      : context_(context), kind_(copy_in(region.kinds[0])), op_(copy_in(&op_of(region, 0))) {
    for (std::uint64_t i = 0; i < region.tensor_count; ++i) tensors_.push_back(copy_in(&tensor_of(region, i)));
    for (baleen_tensor_t& tensor : tensors_)
      for (std::uint32_t d = 0; d < tensor.rank; ++d)
        if (tensor.runs[d])
          tensor.runs[d] = runs_.emplace_back(tensor.runs[d], tensor.runs[d] + tensor.run_count[d]).data();
    for (const auto& [list, count] :
         {std::pair{&op_.inputs, op_.input_count}, std::pair{&op_.outputs, op_.output_count}})
      *list = numbers_.emplace_back(*list, *list + count).data();
    op_.kind = keep(op_.kind);
    op_.name = keep(op_.name);
    for (std::uint64_t i = 0; i < op_.attribute_count; ++i) attributes_.push_back(copy(op_.attributes[i]));
    op_.attributes = attributes_.data();
    call_.size = sizeof(call_);
    call_.op = &op_;
    call_.tensors = tensors_.data();
    call_.tensor_count = tensors_.size();
    call_.pool = const_cast<Threads*>(&context_.threads);
    call_.parallel = [](void* pool, std::uint64_t count, void (*task)(void* context, std::uint64_t i), void* with) {
      static_cast<const Threads*>(pool)->each(static_cast<std::int64_t>(count),
                                              [&](std::int64_t i, int) { task(with, static_cast<std::uint64_t>(i)); });
    };
  }

  Status run(const baleen_launch_t& launch) override {
    baleen_cpu_call_t call = call_;
    call.addresses = launch.tensors;
    call.seed = launch.seed;
    call.step = launch.step;
    call.micro = launch.micro;
    if (kind_.cpu(kind_.self, &call) == BALEEN_OK) return {};
    return internal("the kernel of op kind `" + std::string(view(op_.kind)) + "` failed in " +
                    std::string(view(op_.name)) + "; the line before this one says why");
  }

 private:
  baleen_string_t keep(baleen_string_t text) { return abi(texts_.emplace_back(view(text))); }

  baleen_attribute_t copy(baleen_attribute_t attribute) {
    const std::size_t bytes =
        attribute.count * (attribute.type == BALEEN_ATTRIBUTE_STRING       ? 1
                           : attribute.type == BALEEN_ATTRIBUTE_EXPRESSION ? sizeof(baleen_instruction_t)
                                                                           : 8);
    auto& kept = numbers_of_attributes_.emplace_back((bytes + 7) / 8);
    if (bytes > 0) __builtin_memcpy(kept.data(), attribute.data, bytes);
    attribute.name = keep(attribute.name);
    attribute.data = kept.data();
    return attribute;
  }

  const Context& context_;
  const baleen_op_kind_t kind_;
  std::vector<baleen_tensor_t> tensors_;
  baleen_op_view_t op_;
  std::deque<std::vector<baleen_run_t>> runs_;
  std::deque<std::vector<std::uint32_t>> numbers_;
  std::deque<std::vector<std::uint64_t>> numbers_of_attributes_;
  std::deque<std::string> texts_;
  std::vector<baleen_attribute_t> attributes_;
  baleen_cpu_call_t call_{};
};

}  // namespace

bool brings_kernel(const baleen_region_t& region) {
  if (region.op_count != 1 || region.size < sizeof(baleen_region_t) || !region.kinds || !region.kinds[0]) return false;
  return copy_in(region.kinds[0]).cpu != nullptr;
}

Result<std::unique_ptr<Kernel>> make_of_kind(const Context& context, const baleen_region_t& region) {
  return std::unique_ptr<Kernel>(std::make_unique<KernelOfKind>(context, region));
}

}  // namespace baleen::cpu

/// \file The kinds that have kernels, and what they can take.
#include "registry.hpp"

#include <algorithm>
#include <array>

#include "epilogue.hpp"
#include "kernels/kernels.hpp"

namespace baleen::cuda {
namespace {

struct Entry {
  std::string_view kind;
  Maker make;
  bool (*fits)(const DeviceLimits&, const baleen_region_t&) = nullptr;  // beyond dtypes and runs
};

constexpr std::array kEntries{
    Entry{"matmul", make_matmul, matmul_fits},
    Entry{"pointwise", make_pointwise},
    Entry{"reduce", make_reduce},
    Entry{"softmax", make_softmax},
    Entry{"softmax_grad", make_softmax_grad},
    Entry{"norm", make_norm},
    Entry{"norm_grad", make_norm_grad, norm_grad_fits},
    Entry{"attention", make_attention, attention_fits},
    Entry{"attention_grad", make_attention_grad, attention_fits},
    Entry{"embedding", make_embedding},
    Entry{"embedding_grad", make_embedding_grad},
    Entry{"cross_entropy", make_cross_entropy},
    Entry{"cross_entropy_grad", make_cross_entropy_grad},
    Entry{"linear_cross_entropy", make_linear_cross_entropy},
    Entry{"linear_cross_entropy_grad", make_linear_cross_entropy_grad},
    Entry{"linear_cross_entropy_and_grad", make_linear_cross_entropy_and_grad},
    Entry{"top_k", make_top_k},
    Entry{"reshape", make_reshape},
    Entry{"transpose", make_transpose},
    Entry{"slice", make_slice},
    Entry{"concat", make_concat},
    Entry{"pad", make_pad},
    Entry{"copy", make_copy},
    Entry{"accumulate", make_accumulate},
};

const Entry* find(const baleen_region_t& region) {
  if (region.op_count != 1) return nullptr;
  const std::string_view kind = view(op_of(region, 0).kind);
  for (const Entry& entry : kEntries)
    if (entry.kind == kind) return &entry;
  return nullptr;
}

bool moves_only(std::string_view kind) {
  return kind == "reshape" || kind == "transpose" || kind == "slice" || kind == "concat" || kind == "pad" ||
         kind == "copy";
}

/// fp64 stays among itself; of the other floating dtypes each operand has its own. Copies keep theirs; 8 bits
/// are moved, read and written by expressions, and multiplied.
bool dtypes_fit(std::string_view kind, const baleen_region_t& region, const Op& op) {
  bool any_double = false, any_other = false, any_fp8 = false, all_same = true;
  const baleen_dtype_t first = op.outputs().empty() ? BALEEN_F32 : tensor_of(region, op.outputs()[0]).dtype;
  for (const auto numbers : {op.inputs(), op.outputs()})
    for (const std::uint32_t number : numbers) {
      const baleen_dtype_t dtype = tensor_of(region, number).dtype;
      if (dtype_size(dtype) == 0) return false;
      any_double = any_double || dtype == BALEEN_F64;
      any_fp8 = any_fp8 || is_fp8(dtype);
      any_other = any_other || (is_floating(dtype) && dtype != BALEEN_F64);
      all_same = all_same && dtype == first;
    }
  if (moves_only(kind)) return all_same;
  if (kind == "pointwise" || kind == "accumulate") return true;
  if (any_fp8 && (kind != "matmul" || is_fp8(first))) return false;
  const std::uint32_t operand = op.inputs()[kind == "embedding_grad" ? 1 : 0];  // the other one is ids
  return is_floating(tensor_of(region, operand).dtype) && is_floating(first) && !(any_double && any_other);
}

/// Kernels that select rows by ids hold the runs in their arguments.
bool few_runs(const baleen_tensor_t& tensor) {
  return std::all_of(tensor.run_count, tensor.run_count + tensor.rank,
                     [](std::uint32_t count) { return count <= static_cast<std::uint32_t>(HeldRuns::kMost); });
}

/// "matmul and pointwise `blocks.0.up` to fp32 [8, 256, 1536]".
std::shared_ptr<const Label> label_of(const baleen_region_t& region, const IdRange& ids) {
  const Op op(op_of(region, region.op_count - 1)), first(op_of(region, 0));
  auto label = std::make_shared<Label>();
  label->op = std::string(first.name());
  label->range = ids;
  label->text = std::string(first.kind()) + (region.op_count > 1 ? " and " + std::string(op.kind()) : "") + " `" +
                std::string(first.name()) + "`";
  for (const std::uint32_t number : op.outputs()) {
    const baleen_tensor_t& tensor = tensor_of(region, number);
    label->text +=
        (number == op.outputs()[0] ? " to " : ", ") + std::string(dtype_name(tensor.dtype)) + " " + shape_text(tensor);
  }
  return label;
}

Maker maker_of(const baleen_region_t& region) {
  if (is_fused_product(region)) return make_fused_product;
  if (product_and_sum(region)) return make_product_and_sum;
  if (is_sum_of_squares(region)) return make_sum_of_squares;
  if (is_largest_magnitude(region)) return make_largest_magnitude;
  if (norm_grad_and_sum(region)) return make_norm_grad;
  const Entry* entry = find(region);
  return entry ? entry->make : Maker(make_of_kind);
}

}  // namespace

std::uint32_t region_score(const DeviceLimits& limits, const baleen_region_t& region) {
  if (is_fused_product(region) || product_and_sum(region) || is_sum_of_squares(region) || is_largest_magnitude(region))
    return 1;
  if (const auto found = norm_grad_and_sum(region)) {
    baleen_region_t first = region;
    first.op_count = 1;
    const bool fits = few_runs(found->added.tensor) && few_runs(found->sum.tensor) && norm_grad_adds(found->sum);
    return fits ? region_score(limits, first) : 0;
  }
  const Entry* entry = find(region);
  if (!entry) return brings_text(limits, region) ? 1 : 0;
  const Op op(op_of(region, 0));
  if (!dtypes_fit(entry->kind, region, op)) return 0;
  const bool any_runs = moves_only(entry->kind) || entry->kind == "pointwise";
  const auto fits = [&](std::uint32_t number) { return any_runs || few_runs(tensor_of(region, number)); };
  const bool all = std::all_of(op.inputs().begin(), op.inputs().end(), fits) &&
                   std::all_of(op.outputs().begin(), op.outputs().end(), fits);
  return all && (!entry->fits || entry->fits(limits, region)) ? 1 : 0;
}

Result<std::unique_ptr<Kernel>> make_kernel(const Context& context, const baleen_region_t& region) {
  if (region_score(context.limits, region) == 0)
    return unsupported(
        "the cuda device has no kernel for a region of " + std::to_string(region.op_count) + " ops beginning with `" +
            std::string(region.op_count ? view(op_of(region, 0).kind) : std::string_view("nothing")) + "`",
        std::string(region.op_count ? view(op_of(region, 0).name) : std::string_view()));
  BALEEN_TRY_ASSIGN(auto kernel, maker_of(region)(context, region));
  kernel->label = label_of(region, kernel->ids);
  return kernel;
}

}  // namespace baleen::cuda

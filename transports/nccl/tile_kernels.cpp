/// \file An expression that is the balanced tree, once per size of tile.
#include "tile_kernels.hpp"

#include <array>

#include "baleen/attribute_list.hpp"
#include "baleen/expression_builder.hpp"
#include "baleen/op_reader.hpp"

namespace baleen::nccl {
namespace {

/// Large blocks take few launches, and no more than 31 of each smaller size follow.
constexpr std::uint64_t kTiles[] = {kTile << 10, kTile << 5, kTile};

/// NaN wins, as transport.h promises of a maximum.
std::uint32_t larger(Expression& e, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t b_or_more = e.select(e.binary(BALEEN_X_NE, b, b), b, e.binary(BALEEN_X_MAX, a, b));
  return e.select(e.binary(BALEEN_X_NE, a, a), a, b_or_more);
}

std::uint32_t tree(Expression& e, std::size_t low, std::size_t high, baleen_reduction_t reduction) {
  if (high - low == 1) return e.input(static_cast<std::uint32_t>(low));
  const std::size_t middle = tree_middle(low, high);
  const std::uint32_t a = tree(e, low, middle, reduction), b = tree(e, middle, high, reduction);
  return reduction == BALEEN_SUM ? e.binary(BALEEN_X_ADD, a, b) : larger(e, a, b);
}

baleen_tensor_t row_of(std::uint64_t elements, baleen_dtype_t dtype, baleen_tensor_flags_t flags) {
  baleen_tensor_t tensor{};
  tensor.size = sizeof tensor;
  tensor.dtype = dtype;
  tensor.rank = 1;
  tensor.flags = flags;
  tensor.micro_dim = -1;
  tensor.shape[0] = tensor.global_shape[0] = static_cast<std::int64_t>(elements);
  tensor.stride[0] = 1;
  return tensor;
}

}  // namespace

TileKernels::~TileKernels() {
  for (const auto& [key, kernel] : kernels_) device_.compute->release(device_.handle, kernel);
}

Result<void*> TileKernels::compile(std::size_t members, baleen_dtype_t dtype, baleen_reduction_t reduction,
                                   std::uint64_t elements) const {
  Expression expression;
  const std::int64_t result = tree(expression, 0, members, reduction);
  sdk::AttributeList attributes;
  attributes.expression("expression", expression.code).integer("results", result);
  const std::vector<baleen_attribute_t> list = attributes.list();
  std::vector<baleen_tensor_t> tensors(members, row_of(elements, dtype, BALEEN_TENSOR_EXTERNAL_INPUT));
  tensors.push_back(row_of(elements, dtype, BALEEN_TENSOR_OUTPUT));
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t number = 0; number <= members; ++number) numbers.push_back(number);
  const baleen_op_view_t op{sizeof op, abi("pointwise"), abi("nccl"), numbers.data(), members, &numbers[members],
                            1,         list.data(),      list.size()};
  const baleen_region_t region{sizeof region, &op, 1, tensors.data(), tensors.size(), nullptr};
  baleen_kernel_t kernel{};
  kernel.size = sizeof kernel;
  const std::string what = "sums of " + std::to_string(members) + " " + std::string(dtype_name(dtype)) + " in order";
  if (device_.compute->supports(device_.handle, &region) == 0)
    return unsupported("the device has no kernel for " + what + "; set `deterministic = false` in [transport]");
  BALEEN_TRY(Engine::checked(device_.compute->compile(device_.handle, &region, &kernel), "compiling a reduction"));
  if (kernel.scratch_bytes == 0) return kernel.kernel;
  device_.compute->release(device_.handle, kernel.kernel);
  return unsupported("the device's kernel for " + what +
                     " needs memory of its own; set `deterministic = false` in [transport]");
}

Status TileKernels::make(const Collective& c, std::uint64_t elements) {
  for (const std::uint64_t tile : kTiles) {
    if (elements >= tile && !kernels_.count({c.members, c.dtype, c.reduction, tile})) {
      BALEEN_TRY_ASSIGN(void* const kernel, compile(c.members, c.dtype, c.reduction, tile));
      kernels_.emplace(Key{c.members, c.dtype, c.reduction, tile}, kernel);
    }
    elements %= tile;
  }
  return {};
}

Status TileKernels::launch(const Collective& c, const Step& step, std::byte* from, std::byte* to, void* stream) const {
  std::array<void*, 64> tensors{};
  std::uint64_t at = 0;
  for (const std::uint64_t tile : kTiles) {
    for (; step.elements - at >= tile; at += tile) {
      for (std::size_t m = 0; m < c.members; ++m) tensors[m] = from + m * step.stride + at * c.width();
      tensors[c.members] = to + at * c.width();
      const baleen_launch_t launch{sizeof launch, stream, tensors.data(), nullptr, 0, 0, 0};
      BALEEN_TRY(Engine::checked(
          device_.compute->launch(device_.handle, kernels_.at({c.members, c.dtype, c.reduction, tile}), &launch),
          "launching a reduction"));
    }
  }
  return {};
}

}  // namespace baleen::nccl

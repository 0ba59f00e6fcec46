/// \file softmax over the last dimension, its gradient, and top_k: kernels with a block per row.
#include "functions.hpp"
#include "kernels.hpp"
#include "walks.hpp"

namespace baleen::cuda {
namespace {

/// Finds the function and sizes the grid of a kernel over rows.
template <int kOperands>
class RowsKernel : public Kernel {
 public:
  RowsKernel(const std::array<Operand, kOperands>& operands)
      : operands_(operands),
        rows_(make_rows<kOperands>(operands)),
        geometry_(row_geometry(rows_.leading.size, rows_)) {}

  Status find(const Context& context, const std::string& name) {
    BALEEN_TRY_ASSIGN(function_, context.functions.find(name + suffix(operands_[0].tensor.dtype)));
    return {};
  }

 protected:
  /// The rows for these addresses.
  Rows<kOperands> rows(std::initializer_list<Values> addresses) const {
    Rows<kOperands> out = rows_;
    out.packs = out.packs && aligned(addresses);
    return out;
  }

  std::array<Operand, kOperands> operands_;
  Rows<kOperands> rows_;
  Geometry geometry_;
  CUfunction function_ = nullptr;
};

class SoftmaxKernel : public RowsKernel<2> {
 public:
  SoftmaxKernel(const Operand& x, const Operand& y) : RowsKernel({x, y}) { may_alias(y, x); }
  Status run(const Launch& launch) const override {
    const Values x = launch.values(operands_[0]), y = launch.values(operands_[1]);
    return launch.run(function_, geometry_, SoftmaxArgs{rows({x, y}), x, y});
  }
};

class SoftmaxGradKernel : public RowsKernel<3> {
 public:
  SoftmaxGradKernel(const Operand& y, const Operand& dy, const Operand& dx) : RowsKernel({y, dy, dx}) {
    may_alias(dx, y);
    may_alias(dx, dy);
  }
  Status run(const Launch& launch) const override {
    const Values y = launch.values(operands_[0]), dy = launch.values(operands_[1]), dx = launch.values(operands_[2]);
    return launch.run(function_, geometry_, SoftmaxGradArgs{rows({y, dy, dx}), y, dy, dx});
  }
};

class TopKKernel : public RowsKernel<3> {
 public:
  TopKKernel(const Operand& x, const Operand& values, const Operand& ids) : RowsKernel({x, values, ids}) {}
  Status run(const Launch& launch) const override {
    const std::int64_t k = operands_[1].extent(operands_[1].rank() - 1);
    return launch.run(function_, geometry_,
                      TopKArgs{rows_, launch.values(operands_[0]), launch.values(operands_[1]),
                               launch.at<std::int32_t>(operands_[2]), k});
  }
};

template <class Made>
Result<std::unique_ptr<Kernel>> found(std::unique_ptr<Made> kernel, const Context& context, const char* name) {
  BALEEN_TRY(kernel->find(context, name));
  return std::unique_ptr<Kernel>(std::move(kernel));
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_softmax(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  return found(std::make_unique<SoftmaxKernel>(source.in(0), source.out(0)), context, "baleen_softmax");
}

Result<std::unique_ptr<Kernel>> make_softmax_grad(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  return found(std::make_unique<SoftmaxGradKernel>(source.in(0), source.in(1), source.out(0)), context,
               "baleen_softmax_grad");
}

Result<std::unique_ptr<Kernel>> make_top_k(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  const Operand x = source.in(0), values = source.out(0);
  if (values.extent(values.rank() - 1) > x.extent(x.rank() - 1))
    return invalid(
        "top_k of more elements than there are: " + shape_text(values.tensor) + " of " + shape_text(x.tensor),
        source.name());
  return found(std::make_unique<TopKKernel>(x, values, source.out(1)), context, "baleen_top_k");
}

}  // namespace baleen::cuda

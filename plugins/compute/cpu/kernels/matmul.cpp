/// \file matmul: a contraction by letters, optionally added to a third operand.
#include "gemm.hpp"
#include "kernels.hpp"

namespace baleen::cpu {
namespace {

class MatmulKernel : public Kernel {
 public:
  MatmulKernel(const Context& context, const Source& source, const Contraction& contraction)
      : a_(source.in(0)), b_(source.in(1)), y_(source.out(0)), adds_(source.inputs() > 2) {
    c_ = adds_ ? source.in(2) : y_;
    gemm_ = make_gemm(context, {a_.tensor.dtype, b_.tensor.dtype, y_.tensor.dtype, c_.tensor.dtype}, contraction);
    scratch_bytes = gemm_->scratch_bytes();
    flops = contraction.flops();
    if (adds_ && same_layout(y_.tensor, c_.tensor)) aliases.push_back({y_.number, c_.number});
  }

  Status run(const baleen_launch_t& launch) override {
    gemm_->run(a_.at<void>(launch), b_.at<void>(launch), adds_ ? c_.at<void>(launch) : nullptr, y_.at<void>(launch),
               launch.scratch);
    return {};
  }

 private:
  Operand a_, b_, c_, y_;
  bool adds_;
  std::unique_ptr<Gemm> gemm_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_matmul(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  const Operand added = source.inputs() > 2 ? source.in(2) : Operand{};
  auto c = parse_contraction(source.op().text("spec"), source.in(0), source.in(1), source.out(0),
                             source.inputs() > 2 ? &added : nullptr);
  if (!c) return Error{c.error().code, c.error().message, std::string(source.op().name())};
  return std::unique_ptr<Kernel>(std::make_unique<MatmulKernel>(context, source, *c));
}

}  // namespace baleen::cpu

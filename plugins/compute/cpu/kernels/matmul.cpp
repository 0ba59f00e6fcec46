/// \file matmul: a contraction by letters, optionally added to a third operand.
#include "gemm.hpp"
#include "kernels.hpp"
#include "strided_copy.hpp"

namespace baleen::cpu {
namespace {

class MatmulKernel : public Kernel {
 public:
  MatmulKernel(const Context& context, const Source& source, const Contraction& c)
      : context_(context), a_(source.in(0)), b_(source.in(1)), y_(source.out(0)), depth_(c.outer_depth) {
    const baleen_dtype_t dtype = y_.tensor.dtype;
    element_ = static_cast<std::int64_t>(dtype_size(dtype));
    const bool adds = source.inputs() > 2;
    first_ = make_gemm(context, dtype, c, adds);
    scratch_bytes = first_->scratch_bytes();
    flops = c.flops();
    if (!depth_.empty() && !adds) {
      rest_ = make_gemm(context, dtype, c, true);
      scratch_bytes = std::max(scratch_bytes, rest_->scratch_bytes());
    }
    if (!adds) return;
    c_ = source.in(2);
    initial_ = StridedCopy(dtype_size(dtype), shape(y_.tensor), strides(y_.tensor), strides(c_.tensor));
    if (same_layout(y_.tensor, c_.tensor)) aliases.push_back({y_.number, c_.number});
    adds_ = true;
  }

  Status run(const baleen_launch_t& launch) override {
    const char *a = a_.at<const char>(launch), *b = b_.at<const char>(launch);
    char* y = y_.at<char>(launch);
    if (adds_ && y != c_.at<char>(launch)) initial_.run(context_.threads, y, c_.at<char>(launch));
    std::int64_t steps = 1;
    for (const Loop& loop : depth_) steps *= loop.extent;
    if (steps == 0 && !adds_) return zero(y);
    for (std::int64_t step = 0; step < steps; ++step) {
      std::int64_t rest = step, in_a = 0, in_b = 0;
      for (const Loop& loop : depth_) {
        in_a += rest % loop.extent * loop.a;
        in_b += rest % loop.extent * loop.b;
        rest /= loop.extent;
      }
      Gemm& gemm = step > 0 && rest_ ? *rest_ : *first_;
      gemm.run(a + in_a * element_, b + in_b * element_, y, launch.scratch);
    }
    return {};
  }

 private:
  Status zero(char* y) const {
    constexpr std::uint64_t kZero = 0;
    const std::vector<std::int64_t> nothing(y_.rank());
    StridedCopy(static_cast<std::size_t>(element_), shape(y_.tensor), strides(y_.tensor), nothing)
        .run(context_.threads, y, &kZero);
    return {};
  }

  const Context& context_;
  Operand a_, b_, c_, y_;
  std::vector<Loop> depth_;
  std::int64_t element_ = 4;
  bool adds_ = false;
  StridedCopy initial_;
  std::unique_ptr<Gemm> first_, rest_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_matmul(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  auto c = parse_contraction(source.op().text("spec"), source.in(0), source.in(1), source.out(0));
  if (!c) return Error{c.error().code, c.error().message, std::string(source.op().name())};
  return std::unique_ptr<Kernel>(std::make_unique<MatmulKernel>(context, source, *c));
}

}  // namespace baleen::cpu

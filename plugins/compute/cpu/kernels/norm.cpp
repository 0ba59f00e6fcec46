/// \file norm and norm_grad: rows in parallel, the parameters' gradients by fixed blocks of rows added as a tree.
#include "kernels.hpp"
#include "partials.hpp"
#include "rows.hpp"

namespace baleen::cpu {
namespace {

template <class T>
class NormKernel : public Kernel {
 public:
  NormKernel(const Context& context, const Source& source)
      : context_(context),
        x_(source.in(0)),
        gamma_(source.in(1)),
        y_(source.out(0)),
        rstd_(source.out(1)),
        layer_(source.op().text("kind") == "layer"),
        has_beta_(source.inputs() > 2),
        epsilon_(static_cast<T>(source.op().number("epsilon"))),
        width_(x_.extent(x_.rank() - 1)) {
    if (has_beta_) beta_ = source.in(2);
    mean_ = layer_ ? source.out(2) : rstd_;
    rows_ = leading_walk(x_.rank() - 1, {&x_, &y_, &rstd_, &mean_});
    if (same_layout(y_.tensor, x_.tensor)) aliases.push_back({y_.number, x_.number});
  }

  Status run(const baleen_launch_t& launch) override {
    const RoutinesOf<T>& f = context_.of<T>();
    const T* gamma = gamma_.at<const T>(launch);
    const T* beta = has_beta_ ? beta_.at<const T>(launch) : nullptr;
    context_.threads.pieces(
        rows_.size(), rows_per_task(width_, sizeof(T)), [&](std::int64_t begin, std::int64_t end, int) {
          for (std::int64_t row = begin; row < end; ++row)
            f.norm_row(y_.at<T>(launch) + rows_.offset(1, row), x_.at<const T>(launch) + rows_.offset(0, row), gamma,
                       beta, epsilon_, width_, rstd_.at<T>(launch) + rows_.offset(2, row),
                       layer_ ? mean_.at<T>(launch) + rows_.offset(3, row) : nullptr);
        });
    return {};
  }

 private:
  const Context& context_;
  Operand x_, gamma_, beta_, y_, rstd_, mean_;
  bool layer_, has_beta_;
  T epsilon_;
  std::int64_t width_;
  Walk rows_;
};

template <class T>
class NormGradKernel : public Kernel {
 public:
  NormGradKernel(const Context& context, const Source& source)
      : context_(context),
        x_(source.in(0)),
        gamma_(source.in(1)),
        dy_(source.in(2)),
        rstd_(source.in(3)),
        dx_(source.out(0)),
        dgamma_(source.out(1)),
        layer_(source.op().text("kind") == "layer"),
        has_beta_(source.outputs() > 2),
        width_(x_.extent(x_.rank() - 1)) {
    mean_ = layer_ ? source.in(4) : rstd_;
    if (has_beta_) dbeta_ = source.out(2);
    rows_ = leading_walk(x_.rank() - 1, {&x_, &dy_, &dx_, &rstd_, &mean_});
    partials_ = Partials(rows_.size(), kRows, has_beta_ ? 2 * width_ : width_);
    scratch_bytes = partials_.template bytes<T>();
    for (const Operand* x : {&x_, &dy_})
      if (same_layout(dx_.tensor, x->tensor)) aliases.push_back({dx_.number, x->number});
  }

  Status run(const baleen_launch_t& launch) override {
    const RoutinesOf<T>& f = context_.of<T>();
    T* sums = static_cast<T*>(launch.scratch);
    const T* gamma = gamma_.at<const T>(launch);
    context_.threads.each(partials_.blocks(), [&](std::int64_t block, int) {
      T* dgamma = sums + block * partials_.stride();
      T* dbeta = has_beta_ ? dgamma + width_ : nullptr;
      std::fill_n(dgamma, partials_.width(), T(0));
      for (std::int64_t row = partials_.begin(block); row < partials_.end(block); ++row)
        f.norm_grad_row(dx_.at<T>(launch) + rows_.offset(2, row), x_.at<const T>(launch) + rows_.offset(0, row), gamma,
                        dy_.at<const T>(launch) + rows_.offset(1, row), rstd_.at<const T>(launch)[rows_.offset(3, row)],
                        layer_ ? mean_.at<const T>(launch) + rows_.offset(4, row) : nullptr, width_, dgamma, dbeta);
    });
    partials_.add(context_.threads, sums);
    std::copy_n(sums, width_, dgamma_.at<T>(launch));
    if (has_beta_) std::copy_n(sums + width_, width_, dbeta_.at<T>(launch));
    return {};
  }

 private:
  static constexpr std::int64_t kRows = 32;

  const Context& context_;
  Operand x_, gamma_, dy_, rstd_, mean_, dx_, dgamma_, dbeta_;
  bool layer_, has_beta_;
  std::int64_t width_;
  Walk rows_;
  Partials partials_;
};

Status check_kind(const Source& source) {
  const std::string_view kind = source.op().text("kind");
  if (kind == "layer" || kind == "rms") return {};
  return invalid("norm has no kind `" + std::string(kind) + "`; there are `layer` and `rms`",
                 std::string(source.op().name()));
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_norm(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  BALEEN_TRY(check_kind(source));
  return with_float(source.in(0).tensor.dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    return std::make_unique<NormKernel<T>>(context, source);
  });
}

Result<std::unique_ptr<Kernel>> make_norm_grad(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  BALEEN_TRY(check_kind(source));
  return with_float(source.in(0).tensor.dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    return std::make_unique<NormGradKernel<T>>(context, source);
  });
}

}  // namespace baleen::cpu

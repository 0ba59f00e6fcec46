/// \file norm and norm_grad: rows in parallel, the parameters' gradients by fixed blocks of rows added as a tree.
#include "kernels.hpp"
#include "partials.hpp"
#include "rows.hpp"
#include "stored_rows.hpp"

namespace baleen::cpu {
namespace {

// gamma and beta as T, where they must be converted: the first two rows of the scratch.
template <class T>
class Parameters {
 public:
  Parameters() = default;
  Parameters(bool needed, std::int64_t width) : row_(needed ? (width + 15) / 16 * 16 : 0) {}
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(2 * row_) * sizeof(T); }
  T* row(const baleen_launch_t& launch, std::int64_t i) const { return static_cast<T*>(launch.scratch) + i * row_; }

 private:
  std::int64_t row_ = 0;
};

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
        width_(x_.extent(x_.rank() - 1)),
        stored_(context) {
    if (has_beta_) beta_ = source.in(2);
    mean_ = layer_ ? source.out(2) : rstd_;
    rows_ = leading_walk(x_.rank() - 1, {&x_, &y_, &rstd_, &mean_});
    parameters_ = {converts(gamma_) || (has_beta_ && converts(beta_)), width_};
    spare_ = SpareRows<T>(context, converts(x_) || converts(y_), 1, width_);
    scratch_bytes = parameters_.bytes() + spare_.bytes();
    if (same_layout(y_.tensor, x_.tensor)) aliases.push_back({y_.number, x_.number});
  }

  Status run(const baleen_launch_t& launch) override {
    const RoutinesOf<T>& f = context_.of<T>();
    const T* gamma = stored_.read(launch, gamma_, 0, width_, parameters_.row(launch, 0));
    const T* beta = has_beta_ ? stored_.read(launch, beta_, 0, width_, parameters_.row(launch, 1)) : nullptr;
    char* const rest = static_cast<char*>(launch.scratch) + parameters_.bytes();
    context_.threads.pieces(rows_.size(), rows_per_task(width_, sizeof(T)),
                            [&](std::int64_t begin, std::int64_t end, int thread) {
                              T* const spare = spare_.row(rest, thread, 0);  // of x, and then of y
                              for (std::int64_t row = begin; row < end; ++row) {
                                const T* x = stored_.read(launch, x_, rows_.offset(0, row), width_, spare);
                                T* y = stored_.target(launch, y_, rows_.offset(1, row), spare);
                                T rstd, mean;
                                f.norm_row(y, x, gamma, beta, epsilon_, width_, &rstd, layer_ ? &mean : nullptr);
                                stored_.wrote(launch, y_, rows_.offset(1, row), width_, y);
                                stored_.put_one(launch, rstd_, rows_.offset(2, row), rstd);
                                if (layer_) stored_.put_one(launch, mean_, rows_.offset(3, row), mean);
                              }
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
  StoredAccess<T> stored_;
  Parameters<T> parameters_;
  SpareRows<T> spare_;
};

template <class T>
class NormGradKernel : public Kernel {
 public:
  NormGradKernel(const Context& context, const Source& source, const std::optional<NormGradAndSum>& and_sum)
      : context_(context),
        x_(source.in(0)),
        gamma_(source.in(1)),
        dy_(source.in(2)),
        rstd_(source.in(3)),
        dx_(and_sum ? and_sum->sum : source.out(0)),
        dgamma_(source.out(1)),
        added_(and_sum ? and_sum->added : x_),
        layer_(source.op().text("kind") == "layer"),
        has_beta_(source.outputs() > 2),
        adds_(and_sum.has_value()),
        width_(x_.extent(x_.rank() - 1)),
        stored_(context) {
    mean_ = layer_ ? source.in(4) : rstd_;
    if (has_beta_) dbeta_ = source.out(2);
    rows_ = leading_walk(x_.rank() - 1, {&x_, &dy_, &dx_, &rstd_, &mean_, &added_});
    partials_ = Partials(rows_.size(), kRows, has_beta_ ? 2 * width_ : width_);
    parameters_ = {converts(gamma_), width_};
    spare_ = SpareRows<T>(context, converts(x_) || converts(dy_) || converts(dx_), 2, width_);
    scratch_bytes = parameters_.bytes() + spare_.bytes() + partials_.template bytes<T>();
    for (const Operand* x : {&x_, &dy_})
      if (same_layout(dx_.tensor, x->tensor)) aliases.push_back({dx_.number, x->number});
  }

  Status run(const baleen_launch_t& launch) override {
    const RoutinesOf<T>& f = context_.of<T>();
    const T* gamma = stored_.read(launch, gamma_, 0, width_, parameters_.row(launch, 0));
    char* const rest = static_cast<char*>(launch.scratch) + parameters_.bytes();
    T* sums = reinterpret_cast<T*>(rest + spare_.bytes());
    context_.threads.each(partials_.blocks(), [&](std::int64_t block, int thread) {
      T* dgamma = sums + block * partials_.stride();
      T* dbeta = has_beta_ ? dgamma + width_ : nullptr;
      std::fill_n(dgamma, partials_.width(), T(0));
      T *const spare = spare_.row(rest, thread, 0), *const other = spare_.row(rest, thread, 1);
      for (std::int64_t row = partials_.begin(block); row < partials_.end(block); ++row) {
        const T* x = stored_.read(launch, x_, rows_.offset(0, row), width_, spare);
        const T* dy = stored_.read(launch, dy_, rows_.offset(1, row), width_, other);
        const T* added = adds_ ? added_.template at<T>(launch) + rows_.offset(5, row) : nullptr;
        T* dx = stored_.target(launch, dx_, rows_.offset(2, row), other);
        const T rstd = stored_.one(launch, rstd_, rows_.offset(3, row));
        const T mean = layer_ ? stored_.one(launch, mean_, rows_.offset(4, row)) : T(0);
        f.norm_grad_row(dx, x, gamma, dy, added, rstd, layer_ ? &mean : nullptr, width_, dgamma, dbeta);
        stored_.wrote(launch, dx_, rows_.offset(2, row), width_, dx);
      }
    });
    partials_.add(context_.threads, sums);
    stored_.put(launch, dgamma_, 0, width_, sums);
    if (has_beta_) stored_.put(launch, dbeta_, 0, width_, sums + width_);
    return {};
  }

 private:
  static constexpr std::int64_t kRows = 32;

  const Context& context_;
  Operand x_, gamma_, dy_, rstd_, mean_, dx_, dgamma_, dbeta_, added_;
  bool layer_, has_beta_, adds_;
  std::int64_t width_;
  Walk rows_;
  StoredAccess<T> stored_;
  Parameters<T> parameters_;
  SpareRows<T> spare_;
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
    return std::make_unique<NormGradKernel<T>>(context, source, norm_grad_and_sum(region));
  });
}

}  // namespace baleen::cpu

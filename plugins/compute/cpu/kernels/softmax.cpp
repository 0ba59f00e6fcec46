/// \file softmax over the last dimension, and its gradient.
#include "kernels.hpp"
#include "rows.hpp"
#include "stored_rows.hpp"

namespace baleen::cpu {
namespace {

template <class T>
class SoftmaxKernel : public Kernel {
 public:
  SoftmaxKernel(const Context& context, const Source& source)
      : context_(context),
        x_(source.in(0)),
        y_(source.out(0)),
        width_(x_.extent(x_.rank() - 1)),
        rows_(leading_walk(x_.rank() - 1, {&x_, &y_})),
        stored_(context),
        spare_(context, converts(x_) || converts(y_), 1, width_) {
    scratch_bytes = spare_.bytes();
    if (same_layout(y_.tensor, x_.tensor)) aliases.push_back({y_.number, x_.number});
  }

  Status run(const baleen_launch_t& launch) override {
    const RoutinesOf<T>& f = context_.of<T>();
    context_.threads.pieces(rows_.size(), rows_per_task(width_, sizeof(T)),
                            [&](std::int64_t begin, std::int64_t end, int thread) {
                              T* const spare = spare_.row(launch.scratch, thread, 0);  // of x, and then of y
                              for (std::int64_t row = begin; row < end; ++row) {
                                const T* x = stored_.read(launch, x_, rows_.offset(0, row), width_, spare);
                                T* y = stored_.target(launch, y_, rows_.offset(1, row), spare);
                                const T factor = T(1) / f.exp_shifted(y, x, f.max(x, width_), width_);
                                for (std::int64_t i = 0; i < width_; ++i) y[i] *= factor;
                                stored_.wrote(launch, y_, rows_.offset(1, row), width_, y);
                              }
                            });
    return {};
  }

 private:
  const Context& context_;
  Operand x_, y_;
  std::int64_t width_;
  Walk rows_;
  StoredAccess<T> stored_;
  SpareRows<T> spare_;
};

template <class T>
class SoftmaxGradKernel : public Kernel {
 public:
  SoftmaxGradKernel(const Context& context, const Source& source)
      : context_(context),
        y_(source.in(0)),
        dy_(source.in(1)),
        dx_(source.out(0)),
        width_(y_.extent(y_.rank() - 1)),
        rows_(leading_walk(y_.rank() - 1, {&y_, &dy_, &dx_})),
        stored_(context),
        spare_(context, converts(y_) || converts(dy_) || converts(dx_), 2, width_) {
    scratch_bytes = spare_.bytes();
    for (const Operand* x : {&y_, &dy_})
      if (same_layout(dx_.tensor, x->tensor)) aliases.push_back({dx_.number, x->number});
  }

  Status run(const baleen_launch_t& launch) override {
    const RoutinesOf<T>& f = context_.of<T>();
    context_.threads.pieces(
        rows_.size(), rows_per_task(width_, sizeof(T)), [&](std::int64_t begin, std::int64_t end, int thread) {
          T *const spare = spare_.row(launch.scratch, thread, 0), *const other = spare_.row(launch.scratch, thread, 1);
          for (std::int64_t row = begin; row < end; ++row) {
            const T* y = stored_.read(launch, y_, rows_.offset(0, row), width_, spare);
            const T* dy = stored_.read(launch, dy_, rows_.offset(1, row), width_, other);
            T* dx = stored_.target(launch, dx_, rows_.offset(2, row), other);
            const T sum = f.dot(y, dy, width_);
            for (std::int64_t i = 0; i < width_; ++i) dx[i] = y[i] * (dy[i] - sum);
            stored_.wrote(launch, dx_, rows_.offset(2, row), width_, dx);
          }
        });
    return {};
  }

 private:
  const Context& context_;
  Operand y_, dy_, dx_;
  std::int64_t width_;
  Walk rows_;
  StoredAccess<T> stored_;
  SpareRows<T> spare_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_softmax(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  return with_float(source.in(0).tensor.dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    return std::make_unique<SoftmaxKernel<T>>(context, source);
  });
}

Result<std::unique_ptr<Kernel>> make_softmax_grad(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  return with_float(source.in(0).tensor.dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    return std::make_unique<SoftmaxGradKernel<T>>(context, source);
  });
}

}  // namespace baleen::cpu

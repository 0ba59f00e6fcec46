/// \file cross_entropy and its gradient, row by row.
#include "cross_entropy_row.hpp"
#include "kernels.hpp"
#include "stored_rows.hpp"

namespace baleen::cpu {
namespace {

template <class T>
class CrossEntropyKernel : public Kernel {
 public:
  CrossEntropyKernel(const Context& context, const Source& source)
      : context_(context),
        name_(source.op().name()),
        x_(source.in(0)),
        target_(source.in(1)),
        loss_(source.out(0)),
        lse_(source.out(1)),
        row_(context, source.op(), x_, x_.rank() - 1),
        rows_(leading_walk(x_.rank() - 1, {&x_, &target_, &loss_, &lse_})),
        stored_(context),
        spare_(context, converts(x_), 1, x_.extent(x_.rank() - 1)) {
    scratch_bytes = spare_.bytes() + static_cast<std::uint64_t>(context.threads.count() * row_.kChunk) * sizeof(T);
  }

  Status run(const baleen_launch_t& launch) override {
    const std::int64_t classes = x_.extent(x_.rank() - 1);
    BALEEN_TRY(check_ids(name_, target_, rows_, 1, launch, row_.all_classes(), row_.ignore()));
    context_.threads.pieces(
        rows_.size(), rows_per_task(classes, sizeof(T)), [&](std::int64_t begin, std::int64_t end, int thread) {
          T* const chunk =
              reinterpret_cast<T*>(static_cast<char*>(launch.scratch) + spare_.bytes()) + thread * row_.kChunk;
          T* const spare = spare_.row(launch.scratch, thread, 0);
          for (std::int64_t i = begin; i < end; ++i) {
            const T* x = stored_.read(launch, x_, rows_.offset(0, i), classes, spare);
            const T lse = row_.lse(x, chunk);
            stored_.put_one(launch, lse_, rows_.offset(3, i), lse);
            stored_.put_one(launch, loss_, rows_.offset(2, i),
                            row_.loss(x, target_.at<const std::int32_t>(launch)[rows_.offset(1, i)], lse));
          }
        });
    return {};
  }

 private:
  const Context& context_;
  std::string name_;
  Operand x_, target_, loss_, lse_;
  CrossEntropyRow<T> row_;
  Walk rows_;
  StoredAccess<T> stored_;
  SpareRows<T> spare_;
};

template <class T>
class CrossEntropyGradKernel : public Kernel {
 public:
  CrossEntropyGradKernel(const Context& context, const Source& source)
      : context_(context),
        name_(source.op().name()),
        x_(source.in(0)),
        target_(source.in(1)),
        lse_(source.in(2)),
        dloss_(source.in(3)),
        dx_(source.out(0)),
        row_(context, source.op(), x_, x_.rank() - 1),
        rows_(leading_walk(x_.rank() - 1, {&x_, &target_, &lse_, &dloss_, &dx_})),
        stored_(context),
        spare_(context, converts(x_) || converts(dx_), 1, x_.extent(x_.rank() - 1)) {
    scratch_bytes = spare_.bytes();
    if (same_layout(dx_.tensor, x_.tensor)) aliases.push_back({dx_.number, x_.number});
  }

  Status run(const baleen_launch_t& launch) override {
    const std::int64_t classes = x_.extent(x_.rank() - 1);
    BALEEN_TRY(check_ids(name_, target_, rows_, 1, launch, row_.all_classes(), row_.ignore()));
    context_.threads.pieces(
        rows_.size(), rows_per_task(classes, sizeof(T)), [&](std::int64_t begin, std::int64_t end, int thread) {
          T* const spare = spare_.row(launch.scratch, thread, 0);  // of x, and then of dx
          for (std::int64_t i = begin; i < end; ++i) {
            const T* x = stored_.read(launch, x_, rows_.offset(0, i), classes, spare);
            T* dx = stored_.target(launch, dx_, rows_.offset(4, i), spare);
            row_.grad(dx, x, target_.at<const std::int32_t>(launch)[rows_.offset(1, i)],
                      stored_.one(launch, lse_, rows_.offset(2, i)), stored_.one(launch, dloss_, rows_.offset(3, i)));
            stored_.wrote(launch, dx_, rows_.offset(4, i), classes, dx);
          }
        });
    return {};
  }

 private:
  const Context& context_;
  std::string name_;
  Operand x_, target_, lse_, dloss_, dx_;
  CrossEntropyRow<T> row_;
  Walk rows_;
  StoredAccess<T> stored_;
  SpareRows<T> spare_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_cross_entropy(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  BALEEN_TRY(check_id_type(source, source.in(1)));
  return with_float(source.in(0).tensor.dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    return std::make_unique<CrossEntropyKernel<T>>(context, source);
  });
}

Result<std::unique_ptr<Kernel>> make_cross_entropy_grad(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  BALEEN_TRY(check_id_type(source, source.in(1)));
  return with_float(source.in(0).tensor.dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    return std::make_unique<CrossEntropyGradKernel<T>>(context, source);
  });
}

}  // namespace baleen::cpu

/// \file top_k of the last dimension: descending, equal values by ascending id, NaN above all.
#include <algorithm>
#include <numeric>

#include "kernels.hpp"
#include "rows.hpp"
#include "stored_rows.hpp"

namespace baleen::cpu {
namespace {

template <class T>
class TopKKernel : public Kernel {
 public:
  TopKKernel(const Context& context, const Source& source)
      : context_(context),
        x_(source.in(0)),
        values_(source.out(0)),
        ids_(source.out(1)),
        classes_(x_.extent(x_.rank() - 1)),
        k_(values_.extent(values_.rank() - 1)),
        rows_(leading_walk(x_.rank() - 1, {&x_, &values_, &ids_})),
        stored_(context),
        spare_(context, converts(x_), 1, classes_) {
    thread_bytes_ = padded(static_cast<std::uint64_t>(classes_) * sizeof(std::int32_t));
    scratch_bytes = spare_.bytes() + thread_bytes_ * static_cast<std::uint64_t>(context.threads.count());
  }

  Status run(const baleen_launch_t& launch) override {
    context_.threads.pieces(
        rows_.size(), rows_per_task(classes_, sizeof(T)), [&](std::int64_t begin, std::int64_t end, int thread) {
          char* scratch =
              static_cast<char*>(launch.scratch) + spare_.bytes() + thread_bytes_ * static_cast<std::uint64_t>(thread);
          auto* order = reinterpret_cast<std::int32_t*>(scratch);
          for (std::int64_t row = begin; row < end; ++row) {
            const T* x =
                stored_.read(launch, x_, rows_.offset(0, row), classes_, spare_.row(launch.scratch, thread, 0));
            std::iota(order, order + classes_, 0);
            std::partial_sort(order, order + k_, order + classes_, [x](std::int32_t a, std::int32_t b) {
              const T left = x[a], right = x[b];
              if (left > right || (left != left && right == right)) return true;
              if (left < right || (right != right && left == left)) return false;
              return a < b;
            });
            std::int32_t* ids = ids_.at<std::int32_t>(launch) + rows_.offset(2, row);
            for (std::int64_t i = 0; i < k_; ++i) {
              stored_.put_one(launch, values_, rows_.offset(1, row) + i, x[order[i]]);
              ids[i] = order[i];
            }
          }
        });
    return {};
  }

 private:
  const Context& context_;
  Operand x_, values_, ids_;
  std::int64_t classes_, k_;
  Walk rows_;
  StoredAccess<T> stored_;
  SpareRows<T> spare_;
  std::uint64_t thread_bytes_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_top_k(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  if (source.out(0).extent(source.out(0).rank() - 1) > source.in(0).extent(source.in(0).rank() - 1))
    return invalid("top_k of more elements than there are: " + shape_text(source.out(0).tensor) + " of " +
                       shape_text(source.in(0).tensor),
                   std::string(source.op().name()));
  return with_float(source.in(0).tensor.dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    return std::make_unique<TopKKernel<T>>(context, source);
  });
}

}  // namespace baleen::cpu

/// \file linear_cross_entropy, its gradient, and both at once: logits exist for a bounded chunk of rows at a time.
#include <cstring>

#include "cross_entropy_row.hpp"
#include "gemm.hpp"
#include "kernels.hpp"
#include "stored_rows.hpp"
#include "strided_copy.hpp"

namespace baleen::cpu {
namespace {

constexpr std::int64_t kChunkBytes = std::int64_t{1} << 27;

// Sizes and products that both directions share.
template <class T>
class Chunks {
 public:
  Chunks(const Operand& x, const Operand& w, bool transposed)
      : class_dim(transposed ? 0 : 1), width(x.extent(x.rank() - 1)) {
    classes = w.extent(class_dim);
    w_class = w.stride(class_dim);
    w_width = w.stride(1 - class_dim);
    rows = width > 0 ? elements(x.tensor) / width : 0;
    logit_stride = (classes + 15) / 16 * 16;
    const std::int64_t fit =
        kChunkBytes / static_cast<std::int64_t>(sizeof(T)) / std::max<std::int64_t>(1, logit_stride);
    // As long as each other: a short last chunk would read all of w for a few rows.
    const std::int64_t most = std::max<std::int64_t>(16, fit),
                       count = std::max<std::int64_t>(1, (rows + most - 1) / most);
    chunk = std::max<std::int64_t>(1, (rows + count - 1) / count);
  }

  /// logits[count, classes] = x w
  Contraction logits(std::int64_t count) const {
    return {{count, width, 0, logit_stride}, {classes, 0, w_class, 1}, {width, 1, w_width, 0}, {}, {}};
  }
  /// dx[count, width] = dlogits w^T
  Contraction dx(std::int64_t count) const {
    return {{count, logit_stride, 0, width}, {width, 0, w_width, 1}, {classes, 1, w_class, 0}, {}, {}};
  }
  /// dw[width, classes] = x^T dlogits, or that is added
  Contraction dw(std::int64_t count, std::int64_t dw_width, std::int64_t dw_class) const {
    return {{width, 1, 0, dw_width}, {classes, 0, 1, dw_class}, {count, width, logit_stride, 0}, {}, {}};
  }
  std::uint64_t logit_bytes() const { return padded(static_cast<std::uint64_t>(chunk * logit_stride) * sizeof(T)); }
  std::int64_t last() const { return rows % chunk; }

  std::uint32_t class_dim;
  std::int64_t width, classes, rows, chunk, logit_stride, w_class, w_width;
};

constexpr std::uint64_t largest(std::initializer_list<std::uint64_t> values) { return std::max(values); }

// One product for whole chunks and one for the shorter last one.
struct Pair {
  std::unique_ptr<Gemm> whole, last;
  Gemm& of(bool is_last) const { return is_last ? *last : *whole; }
  std::uint64_t bytes() const { return std::max(whole ? whole->scratch_bytes() : 0, last ? last->scratch_bytes() : 0); }
};

// x (and, backwards, dx) as one packed matrix: the tensor itself, or a copy in scratch.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  explicit PackedMatrix(const Operand& x) : direct_(contiguous(x.tensor)) {
    if (direct_) return;
    std::vector<std::int64_t> plain(x.rank());
    std::int64_t stride = 1;
    for (std::uint32_t i = x.rank(); i-- > 0; stride *= x.extent(i)) plain[i] = stride;
    const std::size_t size = dtype_size(x.tensor.dtype);
    in_ = StridedCopy(size, shape(x.tensor), plain, strides(x.tensor));
    out_ = StridedCopy(size, shape(x.tensor), strides(x.tensor), plain);
    bytes_ = padded(static_cast<std::uint64_t>(elements(x.tensor)) * size);
  }
  std::uint64_t bytes() const { return bytes_; }
  void* fetch(const Threads& threads, void* tensor, void* scratch) const {
    if (direct_) return tensor;
    in_.run(threads, scratch, tensor);
    return scratch;
  }
  void* target(void* tensor, void* scratch) const { return direct_ ? tensor : scratch; }
  void finish(const Threads& threads, void* tensor, const void* scratch) const {
    if (!direct_) out_.run(threads, tensor, scratch);
  }

 private:
  bool direct_ = true;
  StridedCopy in_, out_;
  std::uint64_t bytes_ = 0;
};

template <class T>
class LinearCrossEntropyKernel : public Kernel {
 public:
  LinearCrossEntropyKernel(const Context& context, const Source& source)
      : context_(context),
        name_(source.op().name()),
        x_(source.in(0)),
        w_(source.in(1)),
        target_(source.in(2)),
        loss_(source.out(0)),
        lse_(source.out(1)),
        chunks_(x_, w_, source.op().integer("transposed", 0) != 0),
        row_(context, source.op(), w_, chunks_.class_dim),
        rows_(leading_walk(x_.rank() - 1, {&target_, &loss_, &lse_})),
        matrix_(x_),
        stored_(context) {
    const auto make = [&](std::int64_t n) {
      return make_gemm(context, {x_.tensor.dtype, w_.tensor.dtype, kDtype<T>, kDtype<T>}, chunks_.logits(n));
    };
    logits_.whole = make(chunks_.chunk);
    if (chunks_.last() > 0) logits_.last = make(chunks_.last());
    row_bytes_ = static_cast<std::uint64_t>(row_.kChunk) * sizeof(T);
    scratch_bytes = matrix_.bytes() + chunks_.logit_bytes() +
                    row_bytes_ * static_cast<std::uint64_t>(context.threads.count()) + logits_.bytes();
    flops = chunks_.logits(chunks_.rows).flops();
  }

  Status run(const baleen_launch_t& launch) override {
    BALEEN_TRY(check_ids(name_, target_, rows_, 0, launch, row_.all_classes(), row_.ignore()));
    char* scratch = static_cast<char*>(launch.scratch);
    const char* x = static_cast<const char*>(matrix_.fetch(context_.threads, x_.at<void>(launch), scratch));
    T* logits = reinterpret_cast<T*>(scratch + matrix_.bytes());
    char* row_scratch = scratch + matrix_.bytes() + chunks_.logit_bytes();
    char* gemm_scratch = row_scratch + row_bytes_ * static_cast<std::uint64_t>(context_.threads.count());
    for (std::int64_t first = 0; first < chunks_.rows; first += chunks_.chunk) {
      const std::int64_t count = std::min(chunks_.chunk, chunks_.rows - first);
      logits_.of(count < chunks_.chunk)
          .run(x + first * row_stride(), w_.at<void>(launch), nullptr, logits, gemm_scratch);
      context_.threads.pieces(
          count, rows_per_task(chunks_.classes, sizeof(T)), [&](std::int64_t begin, std::int64_t end, int thread) {
            T* memory = reinterpret_cast<T*>(row_scratch + row_bytes_ * static_cast<std::uint64_t>(thread));
            for (std::int64_t i = begin; i < end; ++i)
              one(launch, logits + i * chunks_.logit_stride, first + i, memory);
          });
    }
    return {};
  }

 private:
  void one(const baleen_launch_t& launch, const T* logits, std::int64_t row, T* memory) const {
    const T lse = row_.lse(logits, memory);
    stored_.put_one(launch, lse_, rows_.offset(2, row), lse);
    stored_.put_one(launch, loss_, rows_.offset(1, row),
                    row_.loss(logits, target_.at<const std::int32_t>(launch)[rows_.offset(0, row)], lse));
  }
  std::int64_t row_stride() const { return chunks_.width * static_cast<std::int64_t>(dtype_size(x_.tensor.dtype)); }

  const Context& context_;
  std::string name_;
  Operand x_, w_, target_, loss_, lse_;
  Chunks<T> chunks_;
  CrossEntropyRow<T> row_;
  Walk rows_;
  PackedMatrix matrix_;
  StoredAccess<T> stored_;
  Pair logits_;
  std::uint64_t row_bytes_;
};

// dw as it is added to by chunk after chunk: the result itself, or, where that would be rounded each time, T in
// scratch.
template <class T>
class WeightSums {
 public:
  WeightSums(const Operand& dw, bool several) : tensor_(dw.tensor) {
    if (!several || !converts(dw)) return;
    tensor_.dtype = kDtype<T>;
    std::int64_t stride = 1;
    for (std::uint32_t i = dw.rank(); i-- > 0; stride *= dw.extent(i)) tensor_.stride[i] = stride;
    bytes_ = padded(static_cast<std::uint64_t>(elements(tensor_)) * sizeof(T));
  }
  const baleen_tensor_t& tensor() const { return tensor_; }
  std::uint64_t bytes() const { return bytes_; }  ///< 0: dw itself
  void round(const Context& context, const baleen_launch_t& launch, const Operand& dw, const char* scratch) const {
    const T* sums = reinterpret_cast<const T*>(scratch);
    const std::int64_t width = dw.extent(1);
    context.threads.pieces(dw.extent(0), rows_per_task(width, sizeof(T)),
                           [&](std::int64_t begin, std::int64_t end, int) {
                             for (std::int64_t i = begin; i < end; ++i)
                               store_row(context.of<T>(), element(launch, dw, i * dw.stride(0)), sums + i * width,
                                         dw.tensor.dtype, dw.stride(1), width);
                           });
  }

 private:
  baleen_tensor_t tensor_;
  std::uint64_t bytes_ = 0;
};

// Where each operand of the gradient is, or of loss and gradient at once.
struct GradOperands {
  GradOperands(const Source& source, bool with_loss)
      : x(source.in(0)),
        w(source.in(1)),
        target(source.in(2)),
        loss(source.out(0)),
        lse(with_loss ? source.out(1) : source.in(3)),
        dloss(source.in(with_loss ? 3 : 4)),
        dx(source.out(with_loss ? 2 : 0)),
        dw(source.out(with_loss ? 3 : 1)) {}

  Operand x, w, target, loss, lse, dloss, dx, dw;  // `loss` means nothing where there is none
};

template <class T, bool kWithLoss>
class LinearCrossEntropyGradKernel : public Kernel {
 public:
  LinearCrossEntropyGradKernel(const Context& context, const Source& source)
      : context_(context),
        name_(source.op().name()),
        at_(source, kWithLoss),
        transposed_(source.op().integer("transposed", 0) != 0),
        chunks_(at_.x, at_.w, transposed_),
        row_(context, source.op(), at_.w, chunks_.class_dim),
        rows_(leading_walk(at_.x.rank() - 1, {&at_.target, &at_.lse, &at_.dloss, kWithLoss ? &at_.loss : &at_.lse})),
        x_matrix_(at_.x),
        dx_matrix_(at_.dx),
        stored_(context),
        dw_sums_(at_.dw, chunks_.chunk < chunks_.rows) {
    fill(logits_, dx_gemm_, dw_gemm_);
    gemm_bytes_ = largest({logits_.bytes(), dx_gemm_.bytes(), dw_gemm_.bytes()});
    row_bytes_ = kWithLoss ? static_cast<std::uint64_t>(row_.kChunk) * sizeof(T) : 0;
    scratch_bytes = x_matrix_.bytes() + dx_matrix_.bytes() + dw_sums_.bytes() + chunks_.logit_bytes() + gemm_bytes_ +
                    row_bytes_ * static_cast<std::uint64_t>(context.threads.count());
    flops = 3 * chunks_.logits(chunks_.rows).flops();
    const std::vector<std::int64_t> nothing(at_.dw.rank());
    clear_ = StridedCopy(dtype_size(at_.dw.tensor.dtype), shape(at_.dw.tensor), strides(at_.dw.tensor), nothing);
  }

  Status run(const baleen_launch_t& launch) override {
    BALEEN_TRY(check_ids(name_, at_.target, rows_, 0, launch, row_.all_classes(), row_.ignore()));
    char* scratch = static_cast<char*>(launch.scratch);
    const char* x =
        static_cast<const char*>(x_matrix_.fetch(context_.threads, at_.x.template at<void>(launch), scratch));
    char* dx_scratch = scratch + x_matrix_.bytes();
    char* dx = static_cast<char*>(dx_matrix_.target(at_.dx.template at<void>(launch), dx_scratch));
    char* dw_scratch = dx_scratch + dx_matrix_.bytes();
    T* logits = reinterpret_cast<T*>(dw_scratch + dw_sums_.bytes());
    char* gemm_scratch = reinterpret_cast<char*>(logits) + chunks_.logit_bytes();
    const void* w = at_.w.template at<void>(launch);
    void* dw = dw_sums_.bytes() ? dw_scratch : at_.dw.template at<void>(launch);
    constexpr std::uint64_t kZero = 0;
    if (chunks_.rows == 0) clear_.run(context_.threads, dw, &kZero);
    for (std::int64_t first = 0; first < chunks_.rows; first += chunks_.chunk) {
      const std::int64_t count = std::min(chunks_.chunk, chunks_.rows - first);
      const bool last = count < chunks_.chunk;
      const char* part = x + first * row_stride(at_.x);
      logits_.of(last).run(part, w, nullptr, logits, gemm_scratch);
      differentiate(launch, logits, first, count, gemm_scratch + gemm_bytes_);
      dx_gemm_.of(last).run(logits, w, nullptr, dx + first * row_stride(at_.dx), gemm_scratch);
      dw_gemm_.of(last).run(part, logits, first == 0 ? nullptr : dw, dw, gemm_scratch);
    }
    dx_matrix_.finish(context_.threads, at_.dx.template at<void>(launch), dx_scratch);
    if (dw_sums_.bytes()) dw_sums_.round(context_, launch, at_.dw, dw_scratch);
    return {};
  }

 private:
  std::int64_t row_stride(const Operand& x) const {
    return chunks_.width * static_cast<std::int64_t>(dtype_size(x.tensor.dtype));
  }

  void fill(Pair& logits, Pair& dx, Pair& dw) const {
    const baleen_dtype_t x = at_.x.tensor.dtype, w = at_.w.tensor.dtype, own = kDtype<T>;
    const baleen_tensor_t& sums = dw_sums_.tensor();
    const std::int64_t dw_class = sums.stride[transposed_ ? 0 : 1], dw_width = sums.stride[transposed_ ? 1 : 0];
    const auto make = [&](std::int64_t count, std::unique_ptr<Gemm>& in_logits, std::unique_ptr<Gemm>& in_dx,
                          std::unique_ptr<Gemm>& in_dw) {
      in_logits = make_gemm(context_, {x, w, own, own}, chunks_.logits(count));
      in_dx = make_gemm(context_, {own, w, at_.dx.tensor.dtype, own}, chunks_.dx(count));
      in_dw = make_gemm(context_, {x, own, sums.dtype, sums.dtype}, chunks_.dw(count, dw_width, dw_class));
    };
    make(chunks_.chunk, logits.whole, dx.whole, dw.whole);
    if (chunks_.last() > 0) make(chunks_.last(), logits.last, dx.last, dw.last);
  }

  // Logits become their gradients.
  void differentiate(const baleen_launch_t& launch, T* logits, std::int64_t first, std::int64_t count,
                     char* memory) const {
    context_.threads.pieces(count, rows_per_task(chunks_.classes, sizeof(T)),
                            [&](std::int64_t begin, std::int64_t end, int thread) {
                              T* own = reinterpret_cast<T*>(memory + row_bytes_ * static_cast<std::uint64_t>(thread));
                              for (std::int64_t i = begin; i < end; ++i)
                                one(launch, logits + i * chunks_.logit_stride, first + i, own);
                            });
  }

  void one(const baleen_launch_t& launch, T* logits, std::int64_t row, T* memory) const {
    const std::int64_t target = at_.target.template at<const std::int32_t>(launch)[rows_.offset(0, row)];
    T lse;
    if constexpr (kWithLoss) {
      lse = row_.lse(logits, memory);
      stored_.put_one(launch, at_.lse, rows_.offset(1, row), lse);
      stored_.put_one(launch, at_.loss, rows_.offset(3, row), row_.loss(logits, target, lse));
    } else {
      lse = stored_.one(launch, at_.lse, rows_.offset(1, row));
    }
    row_.grad(logits, logits, target, lse, stored_.one(launch, at_.dloss, rows_.offset(2, row)));
  }

  const Context& context_;
  std::string name_;
  GradOperands at_;
  bool transposed_;
  Chunks<T> chunks_;
  CrossEntropyRow<T> row_;
  Walk rows_;
  PackedMatrix x_matrix_, dx_matrix_;
  StoredAccess<T> stored_;
  WeightSums<T> dw_sums_;
  Pair logits_, dx_gemm_, dw_gemm_;
  StridedCopy clear_;
  std::uint64_t gemm_bytes_ = 0, row_bytes_ = 0;
};

template <template <class> class Make>
Result<std::unique_ptr<Kernel>> make_of(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  BALEEN_TRY(check_id_type(source, source.in(2)));
  return with_float(source.in(0).tensor.dtype,
                    [&]<class T>() -> std::unique_ptr<Kernel> { return std::make_unique<Make<T>>(context, source); });
}

template <class T>
using GradKernel = LinearCrossEntropyGradKernel<T, false>;
template <class T>
using BothKernel = LinearCrossEntropyGradKernel<T, true>;

}  // namespace

Result<std::unique_ptr<Kernel>> make_linear_cross_entropy(const Context& context, const baleen_region_t& region) {
  return make_of<LinearCrossEntropyKernel>(context, region);
}

Result<std::unique_ptr<Kernel>> make_linear_cross_entropy_grad(const Context& context, const baleen_region_t& region) {
  return make_of<GradKernel>(context, region);
}

Result<std::unique_ptr<Kernel>> make_linear_cross_entropy_and_grad(const Context& context,
                                                                   const baleen_region_t& region) {
  return make_of<BothKernel>(context, region);
}

}  // namespace baleen::cpu

/// \file linear_cross_entropy and its gradient: logits exist for a bounded chunk of rows at a time.
#include "cross_entropy_rows.hpp"
#include "kernels.hpp"
#include "product.hpp"

namespace baleen::cuda {
namespace {

constexpr std::int64_t kChunkBytes = std::int64_t{1} << 28;

/// Sizes that both directions share.
struct Chunks {
  Chunks(const Operand& x, const Operand& w, bool transposed)
      : class_dim(transposed ? 0 : 1),
        width(x.extent(x.rank() - 1)),
        classes(w.extent(class_dim)),
        w_class(w.stride(class_dim)),
        w_width(w.stride(1 - class_dim)) {
    element = static_cast<std::int64_t>(dtype_size(x.tensor.dtype));
    rows = width > 0 ? elements(x.tensor) / width : 0;
    pitch = ceil_div(classes, 16) * 16;
    const std::int64_t fit = kChunkBytes / element / std::max<std::int64_t>(1, pitch);
    chunk = std::max<std::int64_t>(1, std::min(rows, std::max<std::int64_t>(16, fit)));
  }
  std::int64_t last() const { return rows % chunk; }
  std::uint64_t logit_bytes() const { return padded(static_cast<std::uint64_t>(chunk * pitch * element)); }
  std::uint64_t matrix_bytes() const { return padded(static_cast<std::uint64_t>(rows * width * element)); }

  /// logits[count, classes] = x w
  Contraction logits(std::int64_t count) const {
    return merged({{}, {{count, width, 0, pitch}}, {{classes, 0, w_class, 1}}, {{width, 1, w_width, 0}}});
  }
  /// dx[count, width] = dlogits w^T
  Contraction dx(std::int64_t count) const {
    return merged({{}, {{count, pitch, 0, width}}, {{width, 0, w_width, 1}}, {{classes, 1, w_class, 0}}});
  }
  /// dw[width, classes] += x^T dlogits
  Contraction dw(std::int64_t count, std::int64_t dw_width, std::int64_t dw_class) const {
    return merged({{}, {{width, 1, 0, dw_width}}, {{classes, 0, 1, dw_class}}, {{count, width, pitch, 0}}});
  }

  std::uint32_t class_dim;
  std::int64_t width, classes, w_class, w_width, element = 4, rows = 0, pitch = 0, chunk = 1;
};

/// One product for whole chunks and one for the shorter last one.
struct Pair {
  std::unique_ptr<Product> whole, last;

  template <class Make>
  static Result<Pair> make(const Context& context, const Chunks& chunks, baleen_dtype_t dtype, bool adds,
                           const Make& contraction) {
    Pair pair;
    BALEEN_TRY_ASSIGN(pair.whole, make_product(context, contraction(chunks.chunk), dtype, adds));
    if (chunks.last() > 0) {
      BALEEN_TRY_ASSIGN(pair.last, make_product(context, contraction(chunks.last()), dtype, adds));
    }
    return pair;
  }
  const Product& of(bool is_last) const { return is_last ? *last : *whole; }
  std::uint64_t bytes() const { return std::max(whole->scratch_bytes, last ? last->scratch_bytes : 0); }
};

/// x or dx as one packed matrix: the tensor itself, or a copy in scratch.
struct PackedMatrix {
  static Result<PackedMatrix> make(const Context& context, const Operand& x) {
    PackedMatrix out;
    out.direct = contiguous(x.tensor);
    const auto dims = shape(x.tensor);
    BALEEN_TRY_ASSIGN(out.in, Mover::make(context, x.tensor.dtype, dims, packed_strides(dims), strides_of(x)));
    BALEEN_TRY_ASSIGN(out.out, Mover::make(context, x.tensor.dtype, dims, strides_of(x), packed_strides(dims)));
    return out;
  }
  bool direct = true;
  Mover in, out;
};

/// Rows of operands of which the first ones are chunks of packed logits. `like` has the leading dimensions.
template <int kOperands, int kLogits>
Rows<kOperands> chunk_rows(const Chunks& chunks, const Operand& like,
                           const std::array<Operand, kOperands - kLogits>& others) {
  const std::uint32_t leading = like.rank() - 1;
  const std::span<const std::int64_t> dims{like.tensor.shape, leading};
  std::array<Strides, kOperands> strides;
  Rows<kOperands> rows;
  for (int i = 0; i < kLogits; ++i) {
    strides[i] = packed_strides(dims);
    for (std::int64_t& stride : strides[i]) stride *= chunks.pitch;
    rows.inner[i] = 1;
  }
  for (std::size_t i = kLogits; i < kOperands; ++i)
    strides[i].assign(others[i - kLogits].tensor.stride, others[i - kLogits].tensor.stride + leading);
  rows.leading = make_walk<kOperands>(dims, strides);
  rows.width = chunks.classes;
  return rows;
}

class LinearCrossEntropyKernel : public Kernel {
 public:
  explicit LinearCrossEntropyKernel(const Source& source)
      : x_(source.in(0)),
        w_(source.in(1)),
        target_(source.in(2)),
        loss_(source.out(0)),
        lse_(source.out(1)),
        chunks_(x_, w_, source.op().integer("transposed", 0) != 0) {
    args_ = cross_entropy_args(source.op(), make_held(w_, chunks_.class_dim));
    args_.rows = chunk_rows<4, 1>(chunks_, x_, {target_, loss_, lse_});
    ids = args_.range;
  }

  Status build(const Context& context) {
    const baleen_dtype_t dtype = x_.tensor.dtype;
    BALEEN_TRY_ASSIGN(logits_, Pair::make(context, chunks_, dtype, false, [&](auto n) { return chunks_.logits(n); }));
    BALEEN_TRY_ASSIGN(matrix_, PackedMatrix::make(context, x_));
    BALEEN_TRY_ASSIGN(function_, context.functions.find(std::string("baleen_cross_entropy") + suffix(dtype)));
    logits_at_ = matrix_.direct ? 0 : chunks_.matrix_bytes();
    work_at_ = logits_at_ + chunks_.logit_bytes();
    scratch_bytes = work_at_ + logits_.bytes();
    flops = chunks_.logits(chunks_.rows).flops();
    return {};
  }

  Status run(const Launch& launch) const override {
    if (!matrix_.direct) BALEEN_TRY(matrix_.in.run(launch, launch.call.scratch, launch.at(x_)));
    const char* x = matrix_.direct ? launch.at<const char>(x_) : launch.scratch();
    CrossEntropyArgs args = args_;
    args.x = launch.scratch(logits_at_);
    args.target = launch.at<const std::int32_t>(target_);
    args.loss = launch.at(loss_);
    args.lse = launch.at(lse_);
    args.report = launch.report;
    for (std::int64_t first = 0; first < chunks_.rows; first += chunks_.chunk) {
      const std::int64_t count = std::min(chunks_.chunk, chunks_.rows - first);
      const Product& product = logits_.of(count < chunks_.chunk);
      BALEEN_TRY(product.run(launch, x + first * chunks_.width * chunks_.element, launch.at<const char>(w_),
                             launch.scratch(logits_at_), launch.scratch(work_at_)));
      args.first_row = first;
      BALEEN_TRY(launch.run(function_, block_per_row(count, chunks_.classes), args));
    }
    return {};
  }

 private:
  Operand x_, w_, target_, loss_, lse_;
  Chunks chunks_;
  CrossEntropyArgs args_{};
  Pair logits_;
  PackedMatrix matrix_;
  CUfunction function_ = nullptr;
  std::uint64_t logits_at_ = 0, work_at_ = 0;
};

class LinearCrossEntropyGradKernel : public Kernel {
 public:
  explicit LinearCrossEntropyGradKernel(const Source& source)
      : x_(source.in(0)),
        w_(source.in(1)),
        target_(source.in(2)),
        lse_(source.in(3)),
        dloss_(source.in(4)),
        dx_(source.out(0)),
        dw_(source.out(1)),
        chunks_(x_, w_, source.op().integer("transposed", 0) != 0) {
    args_ = cross_entropy_grad_args(source.op(), make_held(w_, chunks_.class_dim));
    args_.rows = chunk_rows<5, 2>(chunks_, x_, {target_, lse_, dloss_});
    ids = args_.range;
  }

  Status build(const Context& context) {
    const baleen_dtype_t dtype = x_.tensor.dtype;
    const std::int64_t dw_class = dw_.stride(chunks_.class_dim), dw_width = dw_.stride(1 - chunks_.class_dim);
    BALEEN_TRY_ASSIGN(logits_, Pair::make(context, chunks_, dtype, false, [&](auto n) { return chunks_.logits(n); }));
    BALEEN_TRY_ASSIGN(dx_product_, Pair::make(context, chunks_, dtype, false, [&](auto n) { return chunks_.dx(n); }));
    BALEEN_TRY_ASSIGN(dw_product_, Pair::make(context, chunks_, dtype, true,
                                              [&](auto n) { return chunks_.dw(n, dw_width, dw_class); }));
    BALEEN_TRY_ASSIGN(x_matrix_, PackedMatrix::make(context, x_));
    BALEEN_TRY_ASSIGN(dx_matrix_, PackedMatrix::make(context, dx_));
    BALEEN_TRY_ASSIGN(clear_, Mover::make(context, dtype, shape(dw_.tensor), strides_of(dw_), Strides(dw_.rank())));
    BALEEN_TRY_ASSIGN(function_, context.functions.find(std::string("baleen_cross_entropy_grad") + suffix(dtype)));
    dx_at_ = x_matrix_.direct ? 0 : chunks_.matrix_bytes();
    logits_at_ = dx_at_ + (dx_matrix_.direct ? 0 : chunks_.matrix_bytes());
    work_at_ = logits_at_ + chunks_.logit_bytes();
    scratch_bytes = work_at_ + std::max({logits_.bytes(), dx_product_.bytes(), dw_product_.bytes()});
    flops = 3 * chunks_.logits(chunks_.rows).flops();
    return {};
  }

  Status run(const Launch& launch) const override {
    BALEEN_TRY(clear_.run(launch, launch.at(dw_), nullptr));
    if (!x_matrix_.direct) BALEEN_TRY(x_matrix_.in.run(launch, launch.call.scratch, launch.at(x_)));
    for (std::int64_t first = 0; first < chunks_.rows; first += chunks_.chunk) BALEEN_TRY(run_chunk(launch, first));
    if (!dx_matrix_.direct) BALEEN_TRY(dx_matrix_.out.run(launch, launch.at(dx_), launch.scratch(dx_at_)));
    return {};
  }

 private:
  Status run_chunk(const Launch& launch, std::int64_t first) const {
    const std::int64_t count = std::min(chunks_.chunk, chunks_.rows - first);
    const std::int64_t skipped = first * chunks_.width * chunks_.element;
    const bool last = count < chunks_.chunk;
    const char* x = (x_matrix_.direct ? launch.at<const char>(x_) : launch.scratch()) + skipped;
    char* dx = (dx_matrix_.direct ? launch.at<char>(dx_) : launch.scratch(dx_at_)) + skipped;
    char *logits = launch.scratch(logits_at_), *work = launch.scratch(work_at_);
    BALEEN_TRY(logits_.of(last).run(launch, x, launch.at<const char>(w_), logits, work));
    CrossEntropyGradArgs args = args_;
    args.x = logits;
    args.dx = logits;
    args.target = launch.at<const std::int32_t>(target_);
    args.lse = launch.at(lse_);
    args.dloss = launch.at(dloss_);
    args.first_row = first;
    args.report = launch.report;
    BALEEN_TRY(launch.run(function_, block_per_row(count, chunks_.classes), args));
    BALEEN_TRY(dx_product_.of(last).run(launch, logits, launch.at<const char>(w_), dx, work));
    return dw_product_.of(last).run(launch, x, logits, launch.at<char>(dw_), work);
  }

  Operand x_, w_, target_, lse_, dloss_, dx_, dw_;
  Chunks chunks_;
  CrossEntropyGradArgs args_{};
  Pair logits_, dx_product_, dw_product_;
  PackedMatrix x_matrix_, dx_matrix_;
  Mover clear_;
  CUfunction function_ = nullptr;
  std::uint64_t dx_at_ = 0, logits_at_ = 0, work_at_ = 0;
};

template <class Made>
Result<std::unique_ptr<Kernel>> make(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  BALEEN_TRY(check_id_type(source, source.in(2)));
  auto kernel = std::make_unique<Made>(source);
  BALEEN_TRY(kernel->build(context));
  return std::unique_ptr<Kernel>(std::move(kernel));
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_linear_cross_entropy(const Context& context, const baleen_region_t& region) {
  return make<LinearCrossEntropyKernel>(context, region);
}

Result<std::unique_ptr<Kernel>> make_linear_cross_entropy_grad(const Context& context, const baleen_region_t& region) {
  return make<LinearCrossEntropyGradKernel>(context, region);
}

}  // namespace baleen::cuda

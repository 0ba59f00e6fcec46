/// \file linear_cross_entropy, its gradient, and both at once: logits exist for a bounded chunk of rows at a time.
#include "cross_entropy_rows.hpp"
#include "kernels.hpp"
#include "product.hpp"

namespace baleen::cuda {
namespace {

/// Of logits: the gradient of w is read and written once per chunk, so chunks are larger where there is much of them.
constexpr std::int64_t kChunkBytes = std::int64_t{1} << 28, kLargeChunkBytes = std::int64_t{1} << 30;
/// Tensor cores' fast kernels want rows that begin at multiples of 16 bytes; tiles are at most so wide.
constexpr std::int64_t kTogether = 8, kTile = 128;

/// Sizes and dtypes that both directions share. Logits are of the type that is computed in; with `half_logits` of that
/// of operands that share one of 16 bits. Where w's rows begin at odd addresses, all products take copies with
/// `columns` classes, of which those beyond `classes` are zeros.
struct Chunks {
  Chunks(const Operand& x, const Operand& w, bool transposed, bool half_logits)
      : class_dim(transposed ? 0 : 1),
        x_type(x.tensor.dtype),
        w_type(w.tensor.dtype),
        logit_type(computed_in(x_type)),
        gradient_type(logit_type),
        width(x.extent(x.rank() - 1)),
        classes(w.extent(class_dim)),
        w_class(w.stride(class_dim)),
        w_width(w.stride(1 - class_dim)) {
    if (half_logits && shares_half()) logit_type = gradient_type = x_type;
    rows = width > 0 ? elements(x.tensor) / width : 0;
    pitch = ceil_div(classes, 16) * 16;
    if (shares_half() && w_class == 1 && w_width % kTogether != 0 && width > 1) {
      pads = true;
      pitch = ceil_div(classes, classes < 8 * kTile ? 16 : kTile) * (classes < 8 * kTile ? 16 : kTile);
      w_width = pitch;
    }
    columns = pads ? pitch : classes;
    const auto element = static_cast<std::int64_t>(dtype_size(logit_type));
    const std::int64_t row_bytes = element * std::max<std::int64_t>(1, pitch);
    const std::int64_t most = rows * row_bytes > 4 * kLargeChunkBytes ? kLargeChunkBytes : kChunkBytes;
    std::int64_t fit = std::max<std::int64_t>(16, most / row_bytes);
    if (fit > 2 * kTile) fit = fit / kTile * kTile;
    chunk = std::max<std::int64_t>(1, std::min(rows, fit));
  }
  std::int64_t last() const { return rows % chunk; }
  std::uint64_t logit_bytes() const { return bytes(chunk * pitch, logit_type); }
  /// Of the logits' gradient; none where it takes the logits' place.
  std::uint64_t gradient_bytes() const { return in_place() ? 0 : bytes(chunk * pitch, gradient_type); }
  std::uint64_t matrix_bytes(baleen_dtype_t dtype) const { return bytes(rows * width, dtype); }
  static std::uint64_t bytes(std::int64_t elements, baleen_dtype_t dtype) {
    return padded(static_cast<std::uint64_t>(elements) * dtype_size(dtype));
  }
  bool in_place() const { return gradient_type == logit_type; }
  bool shares_half() const { return x_type == w_type && dtype_size(x_type) == 2; }

  /// logits[count, classes] = x w
  Contraction logits(std::int64_t count) const {
    return merged({{}, {{count, width, 0, pitch}}, {{columns, 0, w_class, 1}}, {{width, 1, w_width, 0}}});
  }
  /// dx[count, width] = dlogits w^T
  Contraction dx(std::int64_t count) const {
    return merged({{}, {{count, pitch, 0, width}}, {{width, 0, w_width, 1}}, {{columns, 1, w_class, 0}}});
  }
  /// dw[width, classes] += x^T dlogits
  Contraction dw(std::int64_t count, std::int64_t dw_width, std::int64_t dw_class) const {
    return merged({{}, {{width, 1, 0, dw_width}}, {{columns, 0, 1, dw_class}}, {{count, width, pitch, 0}}});
  }

  std::uint32_t class_dim;
  baleen_dtype_t x_type, w_type, logit_type, gradient_type;
  std::int64_t width, classes, w_class, w_width, rows = 0, pitch = 0, columns = 0, chunk = 1;
  bool pads = false;
};

/// w as the products take it: the tensor itself, or a padded copy in scratch.
struct PaddedWeight {
  static Result<PaddedWeight> make(const Context& context, const Chunks& chunks, const Operand& w) {
    PaddedWeight out;
    if (!chunks.pads) return out;
    const std::int64_t dims[] = {chunks.width, chunks.classes},
                       rest[] = {chunks.width, chunks.columns - chunks.classes};
    BALEEN_TRY_ASSIGN(
        out.copy, Mover::make(context, chunks.w_type, dims, {chunks.w_width, 1}, {w.stride(1 - chunks.class_dim), 1}));
    BALEEN_TRY_ASSIGN(out.clear, Mover::zeros(context, chunks.w_type, rest, {chunks.w_width, 1}));
    out.behind = chunks.classes * static_cast<std::int64_t>(dtype_size(chunks.w_type));
    out.bytes = Chunks::bytes(chunks.width * chunks.w_width, chunks.w_type);
    return out;
  }
  /// Makes the copy at `place`; where w is.
  Result<const char*> run(const Launch& launch, const Operand& w, char* place) const {
    if (bytes == 0) return launch.at<const char>(w);
    BALEEN_TRY(copy.run(launch, place, launch.at(w)));
    BALEEN_TRY(clear.run(launch, place + behind, nullptr));
    return static_cast<const char*>(place);
  }
  Mover copy, clear;
  std::int64_t behind = 0;
  std::uint64_t bytes = 0;  ///< of the copy
};

/// One product for whole chunks and one for the shorter last one.
struct Pair {
  std::unique_ptr<Product> whole, last;

  template <class Make>
  static Result<Pair> make(const Context& context, const Chunks& chunks, const ProductTypes& types, bool adds,
                           const Make& contraction) {
    Pair pair;
    BALEEN_TRY_ASSIGN(pair.whole, make_product(context, contraction(chunks.chunk), types, adds));
    if (chunks.last() > 0) {
      BALEEN_TRY_ASSIGN(pair.last, make_product(context, contraction(chunks.last()), types, adds));
    }
    return pair;
  }
  static Result<Pair> logits(const Context& context, const Chunks& chunks) {
    return make(context, chunks, {chunks.x_type, chunks.w_type, chunks.logit_type}, false,
                [&](auto n) { return chunks.logits(n); });
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
  rows.packs = chunks.logit_type != BALEEN_F64 && rows.width >= kPack;  // the scratch and the pitch are aligned
  return rows;
}

class LinearCrossEntropyKernel : public Kernel {
 public:
  LinearCrossEntropyKernel(const Source& source, bool half_logits)
      : x_(source.in(0)),
        w_(source.in(1)),
        target_(source.in(2)),
        loss_(source.out(0)),
        lse_(source.out(1)),
        chunks_(x_, w_, source.op().integer("transposed", 0) != 0, half_logits) {
    args_ = cross_entropy_args(source.op(), make_held(w_, chunks_.class_dim));
    args_.rows = chunk_rows<4, 1>(chunks_, x_, {target_, loss_, lse_});
    ids = args_.range;
  }

  Status build(const Context& context) {
    BALEEN_TRY_ASSIGN(logits_, Pair::logits(context, chunks_));
    BALEEN_TRY_ASSIGN(matrix_, PackedMatrix::make(context, x_));
    BALEEN_TRY_ASSIGN(function_,
                      context.functions.find(std::string("baleen_cross_entropy") + suffix(chunks_.logit_type)));
    BALEEN_TRY_ASSIGN(weight_, PaddedWeight::make(context, chunks_, w_));
    weight_at_ = matrix_.direct ? 0 : chunks_.matrix_bytes(chunks_.x_type);
    logits_at_ = weight_at_ + weight_.bytes;
    work_at_ = logits_at_ + chunks_.logit_bytes();
    scratch_bytes = work_at_ + logits_.bytes();
    products = {logits_.whole->kind};
    flops = chunks_.logits(chunks_.rows).flops();
    return {};
  }

  Status run(const Launch& launch) const override {
    if (!matrix_.direct) BALEEN_TRY(matrix_.in.run(launch, launch.call.scratch, launch.at(x_)));
    const char* x = matrix_.direct ? launch.at<const char>(x_) : launch.scratch();
    BALEEN_TRY_ASSIGN(const char* const w, weight_.run(launch, w_, launch.scratch(weight_at_)));
    const auto element = static_cast<std::int64_t>(dtype_size(chunks_.x_type));
    CrossEntropyArgs args = args_;
    args.x = {launch.scratch(logits_at_), stored(chunks_.logit_type)};
    args.target = launch.at<const std::int32_t>(target_);
    args.loss = launch.values(loss_);
    args.lse = launch.values(lse_);
    args.report = launch.report;
    for (std::int64_t first = 0; first < chunks_.rows; first += chunks_.chunk) {
      const std::int64_t count = std::min(chunks_.chunk, chunks_.rows - first);
      const Product& product = logits_.of(count < chunks_.chunk);
      BALEEN_TRY(product.run(launch, x + first * chunks_.width * element, w, launch.scratch(logits_at_),
                             launch.scratch(work_at_)));
      args.first_row = first;
      BALEEN_TRY(launch.run(function_, row_geometry(count, args.rows), args));
    }
    return {};
  }

 private:
  Operand x_, w_, target_, loss_, lse_;
  Chunks chunks_;
  CrossEntropyArgs args_{};
  Pair logits_;
  PackedMatrix matrix_;
  PaddedWeight weight_;
  CUfunction function_ = nullptr;
  std::uint64_t weight_at_ = 0, logits_at_ = 0, work_at_ = 0;
};

/// The gradient; with four outputs the loss too, from the same logits.
class LinearCrossEntropyGradKernel : public Kernel {
 public:
  LinearCrossEntropyGradKernel(const Source& source, bool half_logits)
      : both_(source.outputs() == 4),
        x_(source.in(0)),
        w_(source.in(1)),
        target_(source.in(2)),
        lse_(both_ ? source.out(1) : source.in(3)),
        dloss_(source.in(both_ ? 3 : 4)),
        dx_(source.out(both_ ? 2 : 0)),
        dw_(source.out(both_ ? 3 : 1)),
        kept_lse_(lse_),
        chunks_(x_, w_, source.op().integer("transposed", 0) != 0, half_logits) {
    // Tensor cores take operands of one dtype; where x and w share one of 16 bits, the logits' gradient is rounded to
    // it too, whatever dx and dw are.
    if (chunks_.shares_half()) chunks_.gradient_type = chunks_.x_type;
    if (both_ && dtype_size(lse_.tensor.dtype) == 2) keep_lse();
    const Held held = make_held(w_, chunks_.class_dim);
    args_ = cross_entropy_grad_args(source.op(), held);
    args_.rows = chunk_rows<5, 2>(chunks_, x_, {target_, kept_lse_, dloss_});
    ids = args_.range;
    if (!both_) return;
    loss_ = source.out(0);
    loss_args_ = cross_entropy_args(source.op(), held);
    loss_args_.rows = chunk_rows<4, 1>(chunks_, x_, {target_, loss_, kept_lse_});
  }

  Status build(const Context& context) {
    const baleen_dtype_t gradient = chunks_.gradient_type;
    // Chunks are added; 16 bits would be rounded each time.
    sum_type_ = computed_in(dw_.tensor.dtype);
    const bool direct = sum_type_ == dw_.tensor.dtype && !chunks_.pads;
    Strides dw_strides = direct ? strides_of(dw_) : packed_strides(shape(dw_.tensor));
    if (chunks_.pads) {
      dw_strides[chunks_.class_dim] = 1;
      dw_strides[1 - chunks_.class_dim] = chunks_.columns;
    }
    const std::int64_t dw_class = dw_strides[chunks_.class_dim], dw_width = dw_strides[1 - chunks_.class_dim];
    BALEEN_TRY_ASSIGN(logits_, Pair::logits(context, chunks_));
    BALEEN_TRY_ASSIGN(dx_product_, Pair::make(context, chunks_, {gradient, chunks_.w_type, dx_.tensor.dtype}, false,
                                              [&](auto n) { return chunks_.dx(n); }));
    BALEEN_TRY_ASSIGN(dw_product_, Pair::make(context, chunks_, {chunks_.x_type, gradient, sum_type_}, true,
                                              [&](auto n) { return chunks_.dw(n, dw_width, dw_class); }));
    BALEEN_TRY_ASSIGN(x_matrix_, PackedMatrix::make(context, x_));
    BALEEN_TRY_ASSIGN(dx_matrix_, PackedMatrix::make(context, dx_));
    BALEEN_TRY_ASSIGN(weight_, PaddedWeight::make(context, chunks_, w_));
    if (!chunks_.pads) {
      BALEEN_TRY_ASSIGN(clear_, Mover::zeros(context, sum_type_, shape(dw_.tensor), dw_strides));
    } else {
      const std::int64_t all[] = {chunks_.width * chunks_.columns};
      BALEEN_TRY_ASSIGN(clear_, Mover::zeros(context, sum_type_, all, {1}));
      const std::int64_t rest[] = {chunks_.chunk, chunks_.columns - chunks_.classes};
      BALEEN_TRY_ASSIGN(clear_gradient_, Mover::zeros(context, gradient, rest, {chunks_.pitch, 1}));
    }
    BALEEN_TRY_ASSIGN(store_lse_,
                      Converter::make(context, shape(lse_.tensor), strides_of(lse_), strides_of(kept_lse_)));
    BALEEN_TRY_ASSIGN(store_, Converter::make(context, shape(dw_.tensor), strides_of(dw_), dw_strides));
    const std::string end = suffix(chunks_.logit_type);
    BALEEN_TRY_ASSIGN(function_, context.functions.find("baleen_cross_entropy_grad" + end));
    BALEEN_TRY_ASSIGN(loss_function_, context.functions.find("baleen_cross_entropy" + end));
    BALEEN_TRY(find_both(context));
    place(direct);
    products = {logits_.whole->kind, dx_product_.whole->kind, dw_product_.whole->kind};
    flops = 3 * chunks_.logits(chunks_.rows).flops();
    return {};
  }

  Status run(const Launch& launch) const override {
    char* dw = dw_direct_ ? launch.at<char>(dw_) : launch.scratch(dw_at_);
    BALEEN_TRY(clear_.run(launch, dw, nullptr));
    BALEEN_TRY_ASSIGN(const char* const w, weight_.run(launch, w_, launch.scratch(weight_at_)));
    // Padding of the logits' gradient: where it takes their place it is zero as theirs is.
    if (chunks_.pads && !chunks_.in_place())
      BALEEN_TRY(clear_gradient_.run(launch, launch.scratch(gradient_at_) + padding_at(), nullptr));
    if (!x_matrix_.direct) BALEEN_TRY(x_matrix_.in.run(launch, launch.call.scratch, launch.at(x_)));
    for (std::int64_t first = 0; first < chunks_.rows; first += chunks_.chunk)
      BALEEN_TRY(run_chunk(launch, first, w, dw));
    if (keeps_lse_) BALEEN_TRY(store_lse_.run(launch, launch.values(lse_), lse(launch)));
    if (!dw_direct_) BALEEN_TRY(store_.run(launch, launch.values(dw_), {dw, stored(sum_type_)}));
    if (!dx_matrix_.direct) BALEEN_TRY(dx_matrix_.out.run(launch, launch.at(dx_), launch.scratch(dx_at_)));
    return {};
  }

 private:
  /// One kernel for loss and gradient where a block's shared memory holds a row.
  Status find_both(const Context& context) {
    constexpr std::uint64_t kOther = 1 << 10;  // of shared memory, for sums
    row_bytes_ = static_cast<std::uint64_t>(ceil_div(chunks_.classes, kPack) * kPack) * sizeof(float);
    if (!both_ || !args_.rows.packs || !loss_args_.rows.packs || row_bytes_ + kOther > context.limits.shared_bytes)
      return {};
    BALEEN_TRY_ASSIGN(both_function_, context.functions.find("baleen_cross_entropy_both_f32", row_bytes_));
    return {};
  }

  /// The gradient needs lse as it was before it is rounded to 16 bits: it stays in scratch until the end.
  void keep_lse() {
    keeps_lse_ = true;
    kept_lse_.tensor.dtype = BALEEN_F32;
    const Strides packed = packed_strides(shape(lse_.tensor));
    std::copy(packed.begin(), packed.end(), kept_lse_.tensor.stride);
  }
  Values lse(const Launch& launch) const {
    return keeps_lse_ ? Values{launch.scratch(lse_at_), kStoredF32} : launch.values(lse_);
  }

  /// The parts of the scratch: x, dx, dw, lse, logits, their gradient, and what the products work with.
  void place(bool direct) {
    dw_direct_ = direct;
    dx_at_ = x_matrix_.direct ? 0 : chunks_.matrix_bytes(chunks_.x_type);
    dw_at_ = dx_at_ + (dx_matrix_.direct ? 0 : chunks_.matrix_bytes(dx_.tensor.dtype));
    const std::int64_t sums = chunks_.pads ? chunks_.width * chunks_.columns : elements(dw_.tensor);
    weight_at_ = dw_at_ + (direct ? 0 : Chunks::bytes(sums, sum_type_));
    lse_at_ = weight_at_ + weight_.bytes;
    logits_at_ = lse_at_ + (keeps_lse_ ? Chunks::bytes(chunks_.rows, BALEEN_F32) : 0);
    gradient_at_ = chunks_.in_place() ? logits_at_ : logits_at_ + chunks_.logit_bytes();
    work_at_ = logits_at_ + chunks_.logit_bytes() + chunks_.gradient_bytes();
    scratch_bytes = work_at_ + std::max({logits_.bytes(), dx_product_.bytes(), dw_product_.bytes()});
  }

  std::int64_t padding_at() const {
    return chunks_.classes * static_cast<std::int64_t>(dtype_size(chunks_.gradient_type));
  }

  Status run_chunk(const Launch& launch, std::int64_t first, const char* w, char* dw) const {
    const std::int64_t count = std::min(chunks_.chunk, chunks_.rows - first);
    const auto skipped = [&](baleen_dtype_t dtype) {
      return first * chunks_.width * static_cast<std::int64_t>(dtype_size(dtype));
    };
    const bool last = count < chunks_.chunk;
    const char* x = (x_matrix_.direct ? launch.at<const char>(x_) : launch.scratch()) + skipped(chunks_.x_type);
    char* dx = (dx_matrix_.direct ? launch.at<char>(dx_) : launch.scratch(dx_at_)) + skipped(dx_.tensor.dtype);
    char *logits = launch.scratch(logits_at_), *gradient = launch.scratch(gradient_at_);
    char* work = launch.scratch(work_at_);
    BALEEN_TRY(logits_.of(last).run(launch, x, w, logits, work));
    CrossEntropyGradArgs args = args_;
    args.x = {logits, stored(chunks_.logit_type)};
    args.dx = {gradient, stored(chunks_.gradient_type)};
    args.target = launch.at<const std::int32_t>(target_);
    args.lse = lse(launch);
    args.dloss = launch.values(dloss_);
    args.first_row = first;
    args.report = launch.report;
    BALEEN_TRY(run_rows(launch, args, count));
    BALEEN_TRY(dx_product_.of(last).run(launch, gradient, w, dx, work));
    return dw_product_.of(last).run(launch, x, gradient, dw, work);
  }

  /// The loss where it is wanted, and the logits' gradient.
  Status run_rows(const Launch& launch, const CrossEntropyGradArgs& args, std::int64_t count) const {
    Geometry geometry = row_geometry(count, args.rows);
    if (!both_) return launch.run(function_, geometry, args);
    CrossEntropyArgs loss = loss_args_;
    loss.x = args.x;
    loss.target = args.target;
    loss.loss = launch.values(loss_);
    loss.lse = args.lse;
    loss.first_row = args.first_row;
    loss.report = args.report;
    if (both_function_) {
      geometry.shared_bytes = row_bytes_;
      return launch.run(both_function_, geometry, CrossEntropyBothArgs{loss, args});
    }
    BALEEN_TRY(launch.run(loss_function_, row_geometry(count, loss.rows), loss));
    return launch.run(function_, geometry, args);
  }

  bool both_;
  Operand x_, w_, target_, lse_, dloss_, dx_, dw_, loss_, kept_lse_;
  Chunks chunks_;
  CrossEntropyGradArgs args_{};
  CrossEntropyArgs loss_args_{};
  Pair logits_, dx_product_, dw_product_;
  PackedMatrix x_matrix_, dx_matrix_;
  PaddedWeight weight_;
  Mover clear_, clear_gradient_;
  Converter store_, store_lse_;
  baleen_dtype_t sum_type_ = BALEEN_F32;
  bool dw_direct_ = true, keeps_lse_ = false;
  CUfunction function_ = nullptr, loss_function_ = nullptr, both_function_ = nullptr;
  std::uint64_t row_bytes_ = 0;
  std::uint64_t dx_at_ = 0, dw_at_ = 0, weight_at_ = 0, lse_at_ = 0, logits_at_ = 0, gradient_at_ = 0, work_at_ = 0;
};

template <class Made>
Result<std::unique_ptr<Kernel>> make(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  BALEEN_TRY(check_id_type(source, source.in(2)));
  auto kernel = std::make_unique<Made>(source, context.half_logits);
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

Result<std::unique_ptr<Kernel>> make_linear_cross_entropy_and_grad(const Context& context,
                                                                   const baleen_region_t& region) {
  return make<LinearCrossEntropyGradKernel>(context, region);
}

}  // namespace baleen::cuda

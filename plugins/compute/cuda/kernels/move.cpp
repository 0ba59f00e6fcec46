/// \file Shape ops as copies: reshape, transpose, slice, concat, pad, copy.
#include "device/move.hpp"
#include "functions.hpp"
#include "kernels.hpp"
#include "product.hpp"
#include "walks.hpp"

namespace baleen::cuda {
namespace {

/// Zeroes outputs where asked, then copies pieces.
class MoveKernel : public Kernel {
 public:
  /// Offsets in elements.
  struct Piece {
    Operand to, from;
    std::int64_t to_offset = 0, from_offset = 0;
    Mover mover;
  };

  Status add(const Context& context, const Operand& to, const Operand& from, std::span<const std::int64_t> extents,
             const Strides& to_strides, const Strides& from_strides, std::int64_t to_offset = 0,
             std::int64_t from_offset = 0) {
    BALEEN_TRY_ASSIGN(Mover mover, Mover::make(context, to.tensor.dtype, extents, to_strides, from_strides));
    pieces_.push_back({to, from, to_offset, from_offset, mover});
    return {};
  }
  Status zero(const Context& context, const Operand& out) {
    zeroed_ = out;
    BALEEN_TRY_ASSIGN(zeros_, Mover::zeros(context, out.tensor.dtype, shape(out.tensor), strides_of(out)));
    has_zeros_ = true;
    return {};
  }

  Status run(const Launch& launch) const override {
    if (has_zeros_) BALEEN_TRY(zeros_.run(launch, launch.at(zeroed_), nullptr));
    for (const Piece& piece : pieces_) {
      const auto element = static_cast<std::int64_t>(dtype_size(piece.to.tensor.dtype));
      BALEEN_TRY(piece.mover.run(launch, launch.at<char>(piece.to) + piece.to_offset * element,
                                 launch.at<const char>(piece.from) + piece.from_offset * element));
    }
    return {};
  }

 private:
  std::vector<Piece> pieces_;
  Operand zeroed_;
  Mover zeros_;
  bool has_zeros_ = false;
};

/// Row-major order kept between two layouts that share no dimensions.
class ReorderKernel : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const Context& context, const Operand& y, const Operand& x) {
    auto kernel = std::make_unique<ReorderKernel>();
    kernel->y_ = y;
    kernel->x_ = x;
    kernel->args_.to_walk = make_walk<1>(shape(y.tensor), {strides_of(y)});
    kernel->args_.from_walk = make_walk<1>(shape(x.tensor), {strides_of(x)});
    const std::string name = "baleen_reorder_" + std::to_string(dtype_size(y.tensor.dtype));
    BALEEN_TRY_ASSIGN(kernel->function_, context.functions.find(name));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status run(const Launch& launch) const override {
    ReorderArgs args = args_;
    args.to = launch.at(y_);
    args.from = launch.at(x_);
    return launch.run(function_, thread_per_element(args.to_walk.size), args);
  }

 private:
  Operand y_, x_;
  ReorderArgs args_{};
  CUfunction function_ = nullptr;
};

Result<std::unique_ptr<Kernel>> one_piece(const Context& context, const Operand& y, const Operand& x,
                                          std::span<const std::int64_t> extents, const Strides& to, const Strides& from,
                                          std::int64_t from_offset = 0) {
  auto kernel = std::make_unique<MoveKernel>();
  BALEEN_TRY(kernel->add(context, y, x, extents, to, from, 0, from_offset));
  return std::unique_ptr<Kernel>(std::move(kernel));
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_copy(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  const Operand y = source.out(0), x = source.in(0);
  return one_piece(context, y, x, shape(y.tensor), strides_of(y), strides_of(x));
}

Result<std::unique_ptr<Kernel>> make_reshape(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  const Operand y = source.out(0), x = source.in(0);
  if (elements(y.tensor) != elements(x.tensor))
    return invalid(
        "reshape from " + shape_text(x.tensor) + " to " + shape_text(y.tensor) + " changes the number of elements",
        source.name());
  if (contiguous(x.tensor))
    return one_piece(context, y, x, shape(y.tensor), strides_of(y), packed_strides(shape(y.tensor)));
  if (contiguous(y.tensor))
    return one_piece(context, y, x, shape(x.tensor), packed_strides(shape(x.tensor)), strides_of(x));
  return ReorderKernel::make(context, y, x);
}

Result<std::unique_ptr<Kernel>> make_transpose(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  const Operand y = source.out(0), x = source.in(0);
  Strides turned;
  for (const std::int64_t dim : source.op().integers("permutation"))
    turned.push_back(x.stride(static_cast<std::uint32_t>(dim)));
  return one_piece(context, y, x, shape(y.tensor), strides_of(y), turned);
}

Result<std::unique_ptr<Kernel>> make_slice(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  const Operand y = source.out(0), x = source.in(0);
  const auto dim = static_cast<std::uint32_t>(source.op().integer("dim"));
  return one_piece(context, y, x, shape(y.tensor), strides_of(y), strides_of(x),
                   source.op().integer("start") * x.stride(dim));
}

Result<std::unique_ptr<Kernel>> make_concat(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  const Operand y = source.out(0);
  const auto dim = static_cast<std::uint32_t>(source.op().integer("dim"));
  auto kernel = std::make_unique<MoveKernel>();
  std::int64_t start = 0;
  for (std::size_t i = 0; i < source.inputs(); ++i) {
    const Operand x = source.in(i);
    BALEEN_TRY(kernel->add(context, y, x, shape(x.tensor), strides_of(y), strides_of(x), start * y.stride(dim)));
    start += x.extent(dim);
  }
  return std::unique_ptr<Kernel>(std::move(kernel));
}

Result<std::unique_ptr<Kernel>> make_pad(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  const Operand y = source.out(0), x = source.in(0);
  const auto dim = static_cast<std::uint32_t>(source.op().integer("dim"));
  auto kernel = std::make_unique<MoveKernel>();
  BALEEN_TRY(kernel->zero(context, y));
  BALEEN_TRY(kernel->add(context, y, x, shape(x.tensor), strides_of(y), strides_of(x),
                         source.op().integer("before") * y.stride(dim)));
  return std::unique_ptr<Kernel>(std::move(kernel));
}

}  // namespace baleen::cuda

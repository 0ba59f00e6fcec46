/// \file Shape ops as copies: reshape, transpose, slice, concat, pad, copy.
#include <cstring>

#include "kernels.hpp"
#include "strided_copy.hpp"

namespace baleen::cpu {
namespace {

using Dims = std::vector<std::int64_t>;

Dims packed_strides(std::span<const std::int64_t> shape) {
  Dims out(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0; stride *= shape[i]) out[i] = stride;
  return out;
}

struct Piece {
  std::uint32_t to, from;               // tensor numbers
  std::int64_t to_offset, from_offset;  // in bytes
  StridedCopy copy;
};

// Zeroes outputs where asked, then copies pieces.
class MoveKernel : public Kernel {
 public:
  explicit MoveKernel(const Context& context) : context_(context) {}

  Piece& add(const Operand& to, const Operand& from, std::span<const std::int64_t> extents, Dims to_strides,
             Dims from_strides) {
    pieces_.push_back(
        {to.number, from.number, 0, 0, StridedCopy(dtype_size(to.tensor.dtype), extents, to_strides, from_strides)});
    return pieces_.back();
  }
  void zero(const Operand& out) { zeros_.push_back(out); }

  Status run(const baleen_launch_t& launch) override {
    for (const Zero& z : zeros_) z.copy.run(context_.threads, launch.tensors[z.number], &kZero);
    for (const Piece& p : pieces_)
      p.copy.run(context_.threads, static_cast<char*>(launch.tensors[p.to]) + p.to_offset,
                 static_cast<const char*>(launch.tensors[p.from]) + p.from_offset);
    return {};
  }

 private:
  static constexpr std::uint64_t kZero = 0;
  // A broadcast copy of one zero.
  struct Zero {
    Zero(const Operand& out)
        : number(out.number),
          copy(dtype_size(out.tensor.dtype), shape(out.tensor), strides(out.tensor), Dims(out.rank())) {}
    std::uint32_t number;
    StridedCopy copy;
  };

  const Context& context_;
  std::vector<Zero> zeros_;
  std::vector<Piece> pieces_;
};

// Row-major order kept between two layouts that share no dimensions: element by element.
class ReorderKernel : public Kernel {
 public:
  ReorderKernel(const Context& context, const Operand& y, const Operand& x)
      : context_(context), y_(y), x_(x), to_(walk(y)), from_(walk(x)) {}

  Status run(const baleen_launch_t& launch) override {
    const std::size_t bytes = dtype_size(y_.tensor.dtype);
    char* to = y_.at<char>(launch);
    const char* from = x_.at<const char>(launch);
    context_.threads.pieces(to_.size(), 4096, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i)
        std::memcpy(to + to_.offset(0, i) * static_cast<std::int64_t>(bytes),
                    from + from_.offset(0, i) * static_cast<std::int64_t>(bytes), bytes);
    });
    return {};
  }

 private:
  static Walk walk(const Operand& operand) {
    const auto s = strides(operand.tensor);
    const Dims dims[] = {{s.begin(), s.end()}};
    return Walk(shape(operand.tensor), dims);
  }

  const Context& context_;
  Operand y_, x_;
  Walk to_, from_;
};

Dims strides_of(const Operand& operand) {
  const auto s = strides(operand.tensor);
  return {s.begin(), s.end()};
}

std::unique_ptr<Kernel> plain_copy(const Context& context, const Operand& y, const Operand& x, Dims x_strides) {
  auto kernel = std::make_unique<MoveKernel>(context);
  kernel->add(y, x, shape(y.tensor), strides_of(y), std::move(x_strides));
  return kernel;
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_copy(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  return plain_copy(context, source.out(0), source.in(0), strides_of(source.in(0)));
}

Result<std::unique_ptr<Kernel>> make_reshape(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  const Operand y = source.out(0), x = source.in(0);
  if (elements(y.tensor) != elements(x.tensor))
    return invalid(
        "reshape from " + shape_text(x.tensor) + " to " + shape_text(y.tensor) + " changes the number of elements",
        std::string(source.op().name()));
  if (contiguous(x.tensor)) return plain_copy(context, y, x, packed_strides(shape(y.tensor)));
  if (contiguous(y.tensor)) {
    auto kernel = std::make_unique<MoveKernel>(context);
    kernel->add(y, x, shape(x.tensor), packed_strides(shape(x.tensor)), strides_of(x));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  return std::unique_ptr<Kernel>(std::make_unique<ReorderKernel>(context, y, x));
}

Result<std::unique_ptr<Kernel>> make_transpose(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  const Operand x = source.in(0);
  Dims turned;
  for (const std::int64_t dim : source.op().integers("permutation"))
    turned.push_back(x.stride(static_cast<std::uint32_t>(dim)));
  return plain_copy(context, source.out(0), x, std::move(turned));
}

Result<std::unique_ptr<Kernel>> make_slice(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  const Operand y = source.out(0), x = source.in(0);
  const auto dim = static_cast<std::uint32_t>(source.op().integer("dim"));
  auto kernel = std::make_unique<MoveKernel>(context);
  kernel->add(y, x, shape(y.tensor), strides_of(y), strides_of(x)).from_offset =
      source.op().integer("start") * x.stride(dim) * static_cast<std::int64_t>(dtype_size(x.tensor.dtype));
  return std::unique_ptr<Kernel>(std::move(kernel));
}

Result<std::unique_ptr<Kernel>> make_concat(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  const Operand y = source.out(0);
  const auto dim = static_cast<std::uint32_t>(source.op().integer("dim"));
  auto kernel = std::make_unique<MoveKernel>(context);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < source.inputs(); ++i) {
    const Operand x = source.in(i);
    kernel->add(y, x, shape(x.tensor), strides_of(y), strides_of(x)).to_offset =
        start * y.stride(dim) * static_cast<std::int64_t>(dtype_size(y.tensor.dtype));
    start += x.extent(dim);
  }
  return std::unique_ptr<Kernel>(std::move(kernel));
}

Result<std::unique_ptr<Kernel>> make_pad(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  const Operand y = source.out(0), x = source.in(0);
  const auto dim = static_cast<std::uint32_t>(source.op().integer("dim"));
  auto kernel = std::make_unique<MoveKernel>(context);
  kernel->zero(y);
  kernel->add(y, x, shape(x.tensor), strides_of(y), strides_of(x)).to_offset =
      source.op().integer("before") * y.stride(dim) * static_cast<std::int64_t>(dtype_size(y.tensor.dtype));
  return std::unique_ptr<Kernel>(std::move(kernel));
}

}  // namespace baleen::cpu

/// \file reduce: sums and maxima over some dimensions, in an order that depends on the shape alone.
#include <algorithm>

#include "device/reduce.hpp"
#include "functions.hpp"
#include "kernels.hpp"
#include "walks.hpp"

namespace baleen::cuda {
namespace {

/// The dimensions that stay, and those that go.
struct Split {
  Strides kept, reduced, kept_x, kept_y, reduced_x;
};

Split split(const Operand& x, const Operand& y, std::span<const std::int64_t> dims, bool keep) {
  Split out;
  std::uint32_t in_y = 0;
  for (std::uint32_t d = 0; d < x.rank(); ++d) {
    const bool gone = std::find(dims.begin(), dims.end(), d) != dims.end();
    if (gone) {
      out.reduced.push_back(x.extent(d));
      out.reduced_x.push_back(x.stride(d));
    } else {
      out.kept.push_back(x.extent(d));
      out.kept_x.push_back(x.stride(d));
      out.kept_y.push_back(y.stride(in_y));
    }
    if (!gone || keep) ++in_y;
  }
  return out;
}

/// Whether positions of `along` are whole packs of neighbours in the first operand, wherever the other walk stands.
template <int kAlong, int kOther>
bool goes_by_packs(const Walk<kAlong>& along, const Walk<kOther>& other) {
  bool good = along.rank > 0 && along.stride[0][along.rank - 1] == 1 && along.extent[along.rank - 1] % kPack == 0;
  for (int d = 0; good && d + 1 < along.rank; ++d) good = along.stride[0][d] % kPack == 0;
  for (int d = 0; good && d < other.rank; ++d) good = other.stride[0][d] % kPack == 0;
  return good;
}

class ReduceKernel : public Kernel {
 public:
  ReduceKernel(const Operand& x, const Operand& y, const Split& split, bool is_max, Taken taken) : x_(x), y_(y) {
    first_.kept = make_walk<2>(split.kept, {split.kept_x, split.kept_y});
    first_.reduced = make_walk<1>(split.reduced, {split.reduced_x});
    first_.is_max = is_max;
    first_.taken = taken;
    const auto inner = [](const auto& walk) { return walk.rank > 0 ? walk.stride[0][walk.rank - 1] : 0; };
    by_columns_ =
        first_.kept.rank > 0 && inner(first_.kept) == 1 && !(first_.reduced.rank > 0 && inner(first_.reduced) == 1);
    packs_ = x.tensor.dtype != BALEEN_F64 &&
             (by_columns_ ? goes_by_packs(first_.kept, first_.reduced) : goes_by_packs(first_.reduced, first_.kept));
    first_.block = reduce_block(first_.reduced.size, by_columns_ ? kColumnBlock : kRowBlock);
    if (!by_columns_) first_.block = ceil_div(first_.block, kPack) * kPack;
    const std::int64_t blocks = std::max<std::int64_t>(1, ceil_div(first_.reduced.size, first_.block));
    geometry_ = by_columns_ ? Geometry{ceil_div(first_.kept.size, 32)} : warp_per_element(first_.kept.size);
    geometry_.blocks_y = blocks;
    packs_geometry_ = geometry_;
    if (by_columns_) {
      packs_geometry_.blocks = ceil_div(first_.kept.size, 32 * kPack);
      packs_ = packs_ && packs_geometry_.blocks * blocks >= kFewBlocks;
    }
    second_ = {make_walk<1>(split.kept, {split.kept_y}), nullptr, {}, blocks, is_max};
    const std::uint64_t element = y.tensor.dtype == BALEEN_F64 ? 8 : 4;
    if (blocks > 1) scratch_bytes = static_cast<std::uint64_t>(blocks * first_.kept.size) * element;
  }

  Status find(const Context& context) {
    const std::string end = suffix(x_.tensor.dtype);
    BALEEN_TRY_ASSIGN(first_function_,
                      context.functions.find((by_columns_ ? "baleen_reduce_columns" : "baleen_reduce_rows") + end));
    packs_function_ = first_function_;
    if (by_columns_ && packs_) {
      BALEEN_TRY_ASSIGN(packs_function_, context.functions.find("baleen_reduce_column_packs"));
    }
    BALEEN_TRY_ASSIGN(second_function_, context.functions.find("baleen_reduce_partials" + end));
    return {};
  }

  Status run(const Launch& launch) const override {
    const bool direct = second_.blocks == 1;
    ReduceArgs first = first_;
    first.x = launch.values(x_);
    first.partials = direct ? nullptr : launch.call.scratch;
    first.y = launch.values(y_);
    first.packs = packs_ && aligned({first.x});
    BALEEN_TRY(
        launch.run(first.packs ? packs_function_ : first_function_, first.packs ? packs_geometry_ : geometry_, first));
    if (direct) return {};
    ReducePartialsArgs second = second_;
    second.partials = launch.call.scratch;
    second.y = launch.values(y_);
    return launch.run(second_function_, warp_per_element(second.kept.size), second);
  }

 private:
  static constexpr std::int64_t kRowBlock = 8192, kColumnBlock = 256;
  /// With fewer than so many, blocks of packs would leave most of a device without work.
  static constexpr std::int64_t kFewBlocks = 32;

  Operand x_, y_;
  ReduceArgs first_{};
  ReducePartialsArgs second_{};
  Geometry geometry_, packs_geometry_;
  bool by_columns_ = false, packs_ = false;
  CUfunction first_function_ = nullptr, packs_function_ = nullptr, second_function_ = nullptr;
};

Result<std::unique_ptr<Kernel>> make(const Context& context, const Source& source, const Operand& x, Taken taken) {
  const std::string_view kind = source.op().text("kind");
  if (kind != "sum" && kind != "max")
    return invalid("reduce has no kind `" + std::string(kind) + "`; there are `sum` and `max`", source.name());
  const Operand y = source.out(0);
  const bool keep = source.op().integer("keep", 0) != 0;
  auto kernel =
      std::make_unique<ReduceKernel>(x, y, split(x, y, source.op().integers("dims"), keep), kind == "max", taken);
  BALEEN_TRY(kernel->find(context));
  return std::unique_ptr<Kernel>(std::move(kernel));
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_reduce(const Context& context, const baleen_region_t& region) {
  return make_reduce(context, Source(region));
}

Result<std::unique_ptr<Kernel>> make_reduce(const Context& context, const Source& source) {
  return make(context, source, source.in(0), kTakenItself);
}

Result<std::unique_ptr<Kernel>> make_sum_of_squares(const Context& context, const baleen_region_t& region) {
  return make(context, Source(region, 1), Source(region, 0).in(0), kTakenSquare);
}

Result<std::unique_ptr<Kernel>> make_largest_magnitude(const Context& context, const baleen_region_t& region) {
  return make(context, Source(region, 1), Source(region, 0).in(0), kTakenMagnitude);
}

}  // namespace baleen::cuda

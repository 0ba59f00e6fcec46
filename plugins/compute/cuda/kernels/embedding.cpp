/// \file embedding and its gradient.
#include "device/move.hpp"
#include "functions.hpp"
#include "kernels.hpp"
#include "product.hpp"
#include "walks.hpp"

namespace baleen::cuda {
namespace {

/// A table's row has the trailing dimensions of y; ids the leading ones.
struct Layout {
  Layout(const Operand& table, const Operand& ids, const Operand& y) {
    const std::uint32_t leading = ids.rank();
    positions = make_walk<2>(shape(ids.tensor), {strides_of(ids), Strides(y.tensor.stride, y.tensor.stride + leading)});
    row = make_walk<2>({table.tensor.shape + 1, table.rank() - 1},
                       {Strides(table.tensor.stride + 1, table.tensor.stride + table.rank()),
                        Strides(y.tensor.stride + leading, y.tensor.stride + y.rank())});
  }
  /// Whether a row of `table` and one of `y` are packed, and begin at multiples of a pack.
  bool lies_in_packs(const Operand& table, const Operand& ids, const Operand& y) const {
    const auto whole = [](const Operand& x, std::uint32_t leading) {
      bool good = x.tensor.dtype != BALEEN_F64;
      for (std::uint32_t d = 0; good && d < leading; ++d) good = x.extent(d) <= 1 || x.stride(d) % kPack == 0;
      return good;
    };
    return row.rank == 1 && row.stride[0][0] == 1 && row.stride[1][0] == 1 && row.size >= kPack && whole(table, 1) &&
           whole(y, ids.rank());
  }
  Walk<2> positions, row;
};

class EmbeddingKernel : public Kernel {
 public:
  explicit EmbeddingKernel(const Source& source) : table_(source.in(0)), ids_(source.in(1)), y_(source.out(0)) {
    const Layout layout(table_, ids_, y_);
    const Held held = make_held(table_, 0);
    ids = {held.all, INT64_MIN};
    args_ = {
        layout.positions, layout.row, layout.lies_in_packs(table_, ids_, y_), {}, nullptr, {}, table_.stride(0), ids,
        held.runs,        {}};
  }
  Status find(const Context& context) {
    BALEEN_TRY_ASSIGN(function_, context.functions.find(std::string("baleen_embedding") + suffix(y_.tensor.dtype)));
    return {};
  }
  Status run(const Launch& launch) const override {
    EmbeddingArgs args = args_;
    args.table = launch.values(table_);
    args.ids = launch.at<const std::int32_t>(ids_);
    args.y = launch.values(y_);
    args.report = launch.report;
    Geometry geometry = block_per_row(args.positions.size, args.row.size, args.packs ? kPack : 1);
    geometry.threads = std::min(geometry.threads, 256u);
    args.packs = args.packs && aligned({args.table, args.y});
    return launch.run(function_, geometry, args);
  }

 private:
  Operand table_, ids_, y_;
  EmbeddingArgs args_{};
  CUfunction function_ = nullptr;
};

/// Sums are of the type that is computed in: in dtable itself, or in scratch where it has 16 bits.
class EmbeddingGradKernel : public Kernel {
 public:
  explicit EmbeddingGradKernel(const Source& source) : ids_(source.in(0)), dy_(source.in(1)), dtable_(source.out(0)) {
    const Held held = make_held(dtable_, 0);
    ids = {held.all, INT64_MIN};
    sums_ = dtable_;
    sums_.tensor.dtype = computed_in(dtable_.tensor.dtype);
    direct_ = sums_.tensor.dtype == dtable_.tensor.dtype;
    if (!direct_) {
      const Strides packed = packed_strides(shape(dtable_.tensor));
      std::copy(packed.begin(), packed.end(), sums_.tensor.stride);
      scratch_bytes = static_cast<std::uint64_t>(elements(dtable_.tensor)) * dtype_size(sums_.tensor.dtype);
    }
    const Layout layout(sums_, ids_, dy_);
    args_ = {layout.positions,
             layout.row,
             layout.lies_in_packs(sums_, ids_, dy_),
             nullptr,
             {},
             nullptr,
             sums_.extent(0),
             sums_.stride(0),
             ids,
             held.runs,
             {}};
  }
  Status find(const Context& context) {
    const std::string name = std::string("baleen_embedding_grad") + suffix(sums_.tensor.dtype);
    BALEEN_TRY_ASSIGN(function_, context.functions.find(name));
    BALEEN_TRY_ASSIGN(store_, Converter::make(context, shape(dtable_.tensor), strides_of(dtable_), strides_of(sums_)));
    return {};
  }
  Status run(const Launch& launch) const override {
    EmbeddingGradArgs args = args_;
    args.ids = launch.at<const std::int32_t>(ids_);
    args.dy = launch.values(dy_);
    args.dtable = direct_ ? launch.at(dtable_) : launch.call.scratch;
    args.report = launch.report;
    args.packs = args.packs && aligned({args.dy, {args.dtable, kStoredF32}});
    BALEEN_TRY(launch.run(function_, warp_per_element(args.rows), args));
    return direct_ ? Status() : store_.run(launch, launch.values(dtable_), {args.dtable, stored(sums_.tensor.dtype)});
  }

 private:
  Operand ids_, dy_, dtable_, sums_;
  bool direct_ = true;
  EmbeddingGradArgs args_{};
  Converter store_;
  CUfunction function_ = nullptr;
};

template <class Made>
Result<std::unique_ptr<Kernel>> make(const Context& context, const baleen_region_t& region, std::size_t ids) {
  const Source source(region);
  BALEEN_TRY(check_id_type(source, source.in(ids)));
  auto kernel = std::make_unique<Made>(source);
  BALEEN_TRY(kernel->find(context));
  return std::unique_ptr<Kernel>(std::move(kernel));
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_embedding(const Context& context, const baleen_region_t& region) {
  return make<EmbeddingKernel>(context, region, 1);
}

Result<std::unique_ptr<Kernel>> make_embedding_grad(const Context& context, const baleen_region_t& region) {
  return make<EmbeddingGradKernel>(context, region, 0);
}

}  // namespace baleen::cuda

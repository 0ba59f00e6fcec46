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
  Walk<2> positions, row;
};

class EmbeddingKernel : public Kernel {
 public:
  explicit EmbeddingKernel(const Source& source) : table_(source.in(0)), ids_(source.in(1)), y_(source.out(0)) {
    const Layout layout(table_, ids_, y_);
    const Held held = make_held(table_, 0);
    ids = {held.all, INT64_MIN};
    args_ = {layout.positions, layout.row, {}, nullptr, {}, table_.stride(0), ids, held.runs, {}};
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
    const unsigned threads = args.row.size > 128 ? 256 : args.row.size > 32 ? 128 : 32;
    return launch.run(function_, {args.positions.size, 1, 1, threads, 0}, args);
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
    args_ = {layout.positions, layout.row, nullptr, {}, nullptr, sums_.extent(0), sums_.stride(0), ids, held.runs, {}};
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

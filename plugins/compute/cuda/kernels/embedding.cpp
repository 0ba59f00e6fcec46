/// \file embedding and its gradient.
#include "device/move.hpp"
#include "functions.hpp"
#include "kernels.hpp"
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
    args_ = {layout.positions, layout.row, nullptr, nullptr, nullptr, table_.stride(0), ids, held.runs, {}};
  }
  Status find(const Context& context) {
    BALEEN_TRY_ASSIGN(function_, context.functions.find(std::string("baleen_embedding") + suffix(y_.tensor.dtype)));
    return {};
  }
  Status run(const Launch& launch) const override {
    EmbeddingArgs args = args_;
    args.table = launch.at(table_);
    args.ids = launch.at<const std::int32_t>(ids_);
    args.y = launch.at(y_);
    args.report = launch.report;
    const unsigned threads = args.row.size > 128 ? 256 : args.row.size > 32 ? 128 : 32;
    return launch.run(function_, {args.positions.size, 1, 1, threads, 0}, args);
  }

 private:
  Operand table_, ids_, y_;
  EmbeddingArgs args_{};
  CUfunction function_ = nullptr;
};

class EmbeddingGradKernel : public Kernel {
 public:
  explicit EmbeddingGradKernel(const Source& source) : ids_(source.in(0)), dy_(source.in(1)), dtable_(source.out(0)) {
    const Layout layout(dtable_, ids_, dy_);
    const Held held = make_held(dtable_, 0);
    ids = {held.all, INT64_MIN};
    args_ = {layout.positions,  layout.row,        nullptr, nullptr,   nullptr,
             dtable_.extent(0), dtable_.stride(0), ids,     held.runs, {}};
  }
  Status find(const Context& context) {
    const std::string name = std::string("baleen_embedding_grad") + suffix(dy_.tensor.dtype);
    BALEEN_TRY_ASSIGN(function_, context.functions.find(name));
    return {};
  }
  Status run(const Launch& launch) const override {
    EmbeddingGradArgs args = args_;
    args.ids = launch.at<const std::int32_t>(ids_);
    args.dy = launch.at(dy_);
    args.dtable = launch.at(dtable_);
    args.report = launch.report;
    return launch.run(function_, warp_per_element(args.rows), args);
  }

 private:
  Operand ids_, dy_, dtable_;
  EmbeddingGradArgs args_{};
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

/// \file embedding and its gradient.
#include "device/move.hpp"
#include "device/sort.hpp"
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

/// Positions are sorted by their rows; then each row's are added.
class EmbeddingGradKernel : public Kernel {
 public:
  explicit EmbeddingGradKernel(const Source& source) : ids_(source.in(0)), dy_(source.in(1)), dtable_(source.out(0)) {
    const Held held = make_held(dtable_, 0);
    ids = {held.all, INT64_MIN};
    const Layout layout(dtable_, ids_, dy_);
    size_ = layout.positions.size;
    keys_ = {make_walk<1>(shape(ids_.tensor), {strides_of(ids_)}), nullptr, nullptr,   nullptr,
             static_cast<std::uint32_t>(dtable_.extent(0)),        ids,     held.runs, {}};
    pass_.size = size_;
    pass_.tiles = ceil_div(size_, kSortTile);
    sum_ = {
        layout.positions,  layout.row,       layout.lies_in_packs(dtable_, ids_, dy_), nullptr, nullptr, size_, {}, {},
        dtable_.extent(0), dtable_.stride(0)};
    const auto list = padded(static_cast<std::uint64_t>(size_) * sizeof(std::uint32_t));
    for (std::uint64_t& at : lists_at_) {
      at = scratch_bytes;
      scratch_bytes += list;
    }
    counts_at_ = scratch_bytes;
    scratch_bytes += padded(static_cast<std::uint64_t>(pass_.tiles) * kDigits * sizeof(std::uint32_t));
  }

  Status find(const Context& context) {
    if (size_ > kMostPositions || dtable_.extent(0) > kMostPositions)
      return unsupported("embedding_grad of more than 2^32 - 2 positions or rows");
    BALEEN_TRY_ASSIGN(clear_, Mover::zeros(context, dtable_.tensor.dtype, shape(dtable_.tensor), strides_of(dtable_)));
    BALEEN_TRY_ASSIGN(list_, context.functions.find("baleen_sort_keys"));
    BALEEN_TRY_ASSIGN(count_, context.functions.find("baleen_sort_count"));
    BALEEN_TRY_ASSIGN(scan_, context.functions.find("baleen_sort_scan"));
    BALEEN_TRY_ASSIGN(scatter_, context.functions.find("baleen_sort_scatter"));
    BALEEN_TRY_ASSIGN(add_, context.functions.find(std::string("baleen_sum_rows") + suffix(computed())));
    return {};
  }

  Status run(const Launch& launch) const override {
    BALEEN_TRY(clear_.run(launch, launch.at(dtable_), nullptr));
    BALEEN_TRY_ASSIGN(const std::size_t at, sort(launch));
    SumRowsArgs args = sum_;
    args.keys = list(launch, at, kKeys);
    args.positions = list(launch, at, kPositions);
    args.dy = launch.values(dy_);
    args.dtable = launch.values(dtable_);
    Geometry geometry = block_per_row(ceil_div(size_, kSumBlock), args.row.size, args.packs ? kPack : 1);
    geometry.threads = std::min(geometry.threads, 256u);
    args.packs = args.packs && aligned({args.dy, args.dtable});
    return launch.run(add_, geometry, args);
  }

 private:
  static constexpr std::int64_t kMostPositions = (std::int64_t{1} << 32) - 2;
  enum List { kKeys, kPositions };

  baleen_dtype_t computed() const { return computed_in(dtable_.tensor.dtype); }
  /// Of two pairs of lists, between which the passes go to and fro.
  std::uint32_t* list(const Launch& launch, std::size_t pair, List which) const {
    return launch.scratch<std::uint32_t>(lists_at_[2 * pair + which]);
  }

  /// The pair that is sorted at the end.
  Result<std::size_t> sort(const Launch& launch) const {
    std::size_t pair = 0;
    SortKeysArgs keys = keys_;
    keys.ids = launch.at<const std::int32_t>(ids_);
    keys.keys = list(launch, pair, kKeys);
    keys.positions = list(launch, pair, kPositions);
    keys.report = launch.report;
    BALEEN_TRY(launch.run(list_, thread_per_element(size_), keys));
    const Geometry tiles{ceil_div(pass_.tiles, kSortWarps), 1, 1, 32 * kSortWarps, 0};
    SortPassArgs pass = pass_;
    pass.counts = launch.scratch<std::uint32_t>(counts_at_);
    for (pass.shift = 0; pass.shift < 32 && keys_.rows >> pass.shift != 0; pass.shift += kDigitBits, pair = 1 - pair) {
      pass.keys = list(launch, pair, kKeys);
      pass.positions = list(launch, pair, kPositions);
      pass.keys_out = list(launch, 1 - pair, kKeys);
      pass.positions_out = list(launch, 1 - pair, kPositions);
      BALEEN_TRY(launch.run(count_, tiles, pass));
      BALEEN_TRY(launch.run(scan_, Geometry{size_ > 0 ? 1 : 0, 1, 1, 1024, 0},
                            SortScanArgs{pass.counts, kDigits * pass.tiles}));
      BALEEN_TRY(launch.run(scatter_, tiles, pass));
    }
    return pair;
  }

  Operand ids_, dy_, dtable_;
  std::int64_t size_ = 0;
  SortKeysArgs keys_{};
  SortPassArgs pass_{};
  SumRowsArgs sum_{};
  Mover clear_;
  CUfunction list_ = nullptr, count_ = nullptr, scan_ = nullptr, scatter_ = nullptr, add_ = nullptr;
  std::array<std::uint64_t, 4> lists_at_{};
  std::uint64_t counts_at_ = 0;
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

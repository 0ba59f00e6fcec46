/// \file Cuts a product into slices that are packed, and blocks that are computed from them, both shared by all
/// threads.
#include "gemm.hpp"

#include <algorithm>

#include "convert.hpp"

namespace baleen::cpu {
namespace {

// Offsets of a run through nested loops.
struct Offsets {
  std::int64_t a = 0, b = 0, y = 0, c = 0;
};
std::int64_t count(const std::vector<Loop>& loops) {
  std::int64_t n = 1;
  for (const Loop& loop : loops) n *= loop.extent;
  return n;
}
Offsets at(const std::vector<Loop>& loops, std::int64_t position) {
  Offsets o;
  for (std::size_t i = loops.size(); i-- > 0;) {
    const std::int64_t index = position % loops[i].extent;
    position /= loops[i].extent;
    o.a += index * loops[i].a;
    o.b += index * loops[i].b;
    o.y += index * loops[i].y;
    o.c += index * loops[i].c;
  }
  return o;
}

constexpr std::int64_t up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }
constexpr std::int64_t pieces(std::int64_t n, std::int64_t of) { return (n + of - 1) / of; }

Contraction transposed(Contraction c) {
  std::swap(c.m, c.n);
  for (Loop* loop : {&c.m, &c.n, &c.k}) std::swap(loop->a, loop->b);
  for (auto* loops : {&c.outer, &c.outer_depth})
    for (Loop& loop : *loops) std::swap(loop.a, loop.b);
  return c;
}

// An address moved by elements.
template <class Void>
Void* moved(Void* base, std::int64_t elements, baleen_dtype_t dtype) {
  using Byte = std::conditional_t<std::is_const_v<Void>, const char, char>;
  return static_cast<Byte*>(base) + elements * static_cast<std::int64_t>(dtype_size(dtype));
}

/// Each depth slice of at most kDepth is packed (phase one) and then multiplied (phase two), for at most kColumns
/// columns, and for a batch of products at once, so that what is packed is bounded. 16-bit sides become T in packing; a
/// 16-bit result is rounded after the last slice, its sums being kept as T until then, and then the rows that pass at
/// once are bounded too.
template <class T>
class PackedGemm : public Gemm {
 public:
  PackedGemm(const Context& context, const GemmDtypes& dtypes, const Contraction& c)
      : context_(context),
        routines_(context.of<T>()),
        // A result that lies column by column is the product of the transposes.
        turned_(c.n.extent > 1 && c.n.y != 1 && c.m.y == 1),
        c_(turned_ ? transposed(c) : c),
        dtypes_(turned_ ? GemmDtypes{dtypes.b, dtypes.a, dtypes.y, dtypes.c} : dtypes),
        rounds_(storage_of(dtypes.y) != Storage::kOwn),
        batch_(count(c_.outer)) {
    const bool by_slivers = (c_.k.a != 1 && c_.k.extent > 1) || (c_.m.a == 0 && c_.m.extent > 1);
    const bool widens = storage_of(dtypes_.a) != Storage::kOwn;
    left_as_ = by_slivers ? Left::kSlivers : widens ? Left::kRows : Left::kOwn;
    pieces_of_k_ = std::max<std::int64_t>(1, pieces(c_.k.extent, kDepth));
    depth_ = pieces(c_.k.extent, pieces_of_k_);
    slices_ = std::max<std::int64_t>(1, count(c_.outer_depth)) * pieces_of_k_;
    nothing_ = count(c_.outer_depth) == 0;
    rows_ = up(kRows, routines_.gemm_rows);
    group_ = routines_.gemm_columns * kPanels;
    columns_ = std::min(up(c_.n.extent, routines_.gemm_columns), kColumns);
    height_ = c_.m.extent;
    if (widens || (rounds_ && slices_ > 1)) bound_height();
    lay_out();
  }

  std::uint64_t scratch_bytes() const override {
    return padded(static_cast<std::uint64_t>(at_once_ * (right_ + left_ + sums_)) * sizeof(T)) +
           tile_bytes_ * static_cast<std::uint64_t>(context_.threads.count());
  }

  void run(const void* a, const void* b, const void* c, void* y, void* scratch) override {
    if (c_.m.extent == 0 || c_.n.extent == 0) return;
    if (turned_) std::swap(a, b);
    Slice s{a, b, c, y, static_cast<T*>(scratch)};
    for (s.batch = 0; s.batch < batch_; s.batch += at_once_) {
      s.products = std::min(at_once_, batch_ - s.batch);
      for (s.column = 0; s.column < c_.n.extent; s.column += columns_) {
        s.columns = std::min(columns_, c_.n.extent - s.column);
        for (s.row = 0; s.row < c_.m.extent; s.row += height_) {
          s.rows = std::min(height_, c_.m.extent - s.row);
          for (s.number = 0; s.number < slices_; ++s.number) {
            s.k = s.number % pieces_of_k_ * depth_;
            s.depth = nothing_ ? 0 : std::min(depth_, c_.k.extent - s.k);
            s.at = at(c_.outer_depth, s.number / pieces_of_k_);
            pack(s, s.row == 0 || slices_ > 1);
            multiply(s);
          }
        }
      }
    }
  }

 private:
  // fp32 elements of depth and columns in a slice; bytes of what is packed at once, unless one slice has more; rows and
  // panels of a block: the panels of one block stay in a core's second-level cache while its rows pass; bytes of rows
  // that are kept as T, beside 16-bit ones.
  static constexpr std::int64_t kDepth = 768, kColumns = 2048, kPacked = std::int64_t{4} << 20, kRows = 96, kPanels = 2,
                                kStrip = 64, kHeld = std::int64_t{12} << 20;

  // The left side as blocks read it: the operand's own rows, or rows or slivers in the scratch.
  enum class Left { kOwn, kRows, kSlivers };

  // What is packed and multiplied at a time: some products of the batch, some rows, some columns, some depth.
  struct Slice {
    const void *a, *b, *c;
    void* y;
    T* scratch;
    std::int64_t batch = 0, products = 0, row = 0, rows = 0, column = 0, columns = 0, number = 0, k = 0, depth = 0;
    Offsets at = {};  // of the outer depth
  };

  // Some equal parts of the rows.
  void bound_height() {
    const std::int64_t row = (up(depth_, 16) + up(columns_, group_)) * std::int64_t{sizeof(T)};
    const std::int64_t parts = std::max<std::int64_t>(1, pieces(c_.m.extent, std::max(rows_, kHeld / row)));
    height_ = std::min(c_.m.extent, up(pieces(c_.m.extent, parts), rows_));
  }

  void lay_out() {
    right_ = columns_ / routines_.gemm_columns * routines_.panel_step(depth_);
    left_row_ = up(depth_, 16) + 16;  // not a multiple of 4 KiB
    if (left_as_ == Left::kSlivers)
      left_ = up(pieces(height_, routines_.gemm_rows) * routines_.sliver_step(depth_), 16);
    if (left_as_ == Left::kRows) left_ = height_ * left_row_;
    if (rounds_ && slices_ > 1) {
      sums_row_ = up(columns_, group_) + 16;
      sums_ = height_ * sums_row_;
    } else if (rounds_) {
      tile_bytes_ = padded(static_cast<std::uint64_t>(rows_ * group_) * sizeof(T));
    }
    const std::int64_t fit = kPacked / std::max<std::int64_t>(1, (right_ + left_ + sums_) * std::int64_t{sizeof(T)});
    at_once_ = std::clamp<std::int64_t>(fit, 1, std::max<std::int64_t>(1, batch_));
  }

  T* right(const Slice& s, std::int64_t product) const { return s.scratch + product * right_; }
  T* left(const Slice& s, std::int64_t product) const { return s.scratch + at_once_ * right_ + product * left_; }
  T* sums(const Slice& s, std::int64_t product) const {
    return s.scratch + at_once_ * (right_ + left_) + product * sums_;
  }
  T* tile(const Slice& s, int thread) const {
    char* const tiles = reinterpret_cast<char*>(s.scratch) +
                        padded(static_cast<std::uint64_t>(at_once_ * (right_ + left_ + sums_)) * sizeof(T));
    return reinterpret_cast<T*>(tiles + static_cast<std::uint64_t>(thread) * tile_bytes_);
  }

  void pack(const Slice& s, bool with_right) const {
    // Where neighbours along the rows or columns are the next elements, memory is read along their whole length, by
    // some of the depth at a time; else some rows or columns along their whole depth.
    const bool right_strips = c_.n.b == 1, left_strips = left_as_ == Left::kSlivers && c_.m.a == 1;
    const std::int64_t strips = pieces(s.depth, kStrip);
    const std::int64_t rights = !with_right ? 0 : right_strips ? strips : pieces(s.columns, group_);
    const std::int64_t lefts = left_as_ == Left::kOwn ? 0 : left_strips ? strips : pieces(s.rows, rows_);
    context_.threads.each(s.products * (rights + lefts), [&](std::int64_t task, int) {
      const std::int64_t product = task / (rights + lefts), piece = task % (rights + lefts);
      if (piece < rights)
        pack_right(s, product, piece, right_strips);
      else if (left_as_ == Left::kRows)
        widen_left(s, product, piece - rights);
      else
        pack_left(s, product, piece - rights, left_strips);
    });
  }

  void pack_right(const Slice& s, std::int64_t product, std::int64_t piece, bool strips) const {
    const std::int64_t offset = at(c_.outer, s.batch + product).b + s.at.b + s.k * c_.k.b;
    const std::int64_t j = strips ? 0 : piece * group_, first = strips ? piece * kStrip : 0;
    routines_.pack_right(right(s, product) + j / routines_.gemm_columns * routines_.panel_step(s.depth),
                         moved(s.b, offset + (s.column + j) * c_.n.b, dtypes_.b), storage_of(dtypes_.b), c_.k.b, c_.n.b,
                         s.depth, strips ? s.columns : std::min(group_, s.columns - j), first,
                         strips ? std::min(first + kStrip, s.depth) : s.depth);
  }

  const void* left_at(const Slice& s, std::int64_t product, std::int64_t row) const {
    const std::int64_t offset = at(c_.outer, s.batch + product).a + s.at.a + s.k * c_.k.a;
    return moved(s.a, offset + (s.row + row) * c_.m.a, dtypes_.a);
  }

  void pack_left(const Slice& s, std::int64_t product, std::int64_t piece, bool strips) const {
    const std::int64_t row = strips ? 0 : piece * rows_, first = strips ? piece * kStrip : 0;
    routines_.pack_left(left(s, product) + row / routines_.gemm_rows * routines_.sliver_step(s.depth),
                        left_at(s, product, row), storage_of(dtypes_.a), c_.m.a, c_.k.a,
                        strips ? s.rows : std::min(rows_, s.rows - row), s.depth, first,
                        strips ? std::min(first + kStrip, s.depth) : s.depth);
  }

  void widen_left(const Slice& s, std::int64_t product, std::int64_t piece) const {
    for (std::int64_t row = piece * rows_; row < std::min(s.rows, (piece + 1) * rows_); ++row)
      routines_.widen(left(s, product) + row * left_row_, left_at(s, product, row), storage_of(dtypes_.a), s.depth);
  }

  void multiply(const Slice& s) const {
    const std::int64_t groups = pieces(s.columns, group_), blocks = pieces(s.rows, rows_);
    context_.threads.each(s.products * groups * blocks, [&](std::int64_t task, int thread) {
      const std::int64_t product = task / (groups * blocks);
      const std::int64_t j = task / blocks % groups * group_, row = task % blocks * rows_;
      GemmBlock<T> block;
      block.rows = std::min(rows_, s.rows - row);
      block.columns = std::min(group_, s.columns - j);
      block.depth = s.depth;
      find_left(s, product, row, block);
      block.b = right(s, product) + j / routines_.gemm_columns * routines_.panel_step(s.depth);
      const Offsets o = at(c_.outer, s.batch + product);
      void* const y = moved(s.y, o.y + (s.row + row) * c_.m.y + (s.column + j) * c_.n.y, dtypes_.y);
      block.c = !rounds_ ? static_cast<T*>(y) : sums_ ? sums(s, product) + row * sums_row_ + j : tile(s, thread);
      block.c_row = !rounds_ ? c_.m.y : sums_ ? sums_row_ : group_;
      block.c_column = rounds_ ? 1 : c_.n.y;
      block.accumulate = s.c || s.number > 0;
      if (s.number == 0 && s.c && (rounds_ || s.c != s.y)) {
        const bool in_place = s.c == s.y;
        const std::int64_t from = o.c + (s.row + row) * c_.m.c + (s.column + j) * c_.n.c;
        start(block, in_place ? y : moved(s.c, from, dtypes_.c), in_place);
      }
      routines_.gemm(block);
      if (rounds_ && s.number + 1 == slices_)
        for (std::int64_t r = 0; r < block.rows; ++r)
          store_row(routines_, moved(y, r * c_.m.y, dtypes_.y), block.c + r * block.c_row, dtypes_.y, c_.n.y,
                    block.columns);
    });
  }

  void find_left(const Slice& s, std::int64_t product, std::int64_t row, GemmBlock<T>& block) const {
    switch (left_as_) {
      case Left::kOwn:
        block.a = static_cast<const T*>(left_at(s, product, row));
        block.a_row = std::max<std::int64_t>(1, c_.m.a);  // of a single row it is of no matter
        break;
      case Left::kRows:
        block.a = left(s, product) + row * left_row_;
        block.a_row = left_row_;
        break;
      case Left::kSlivers:
        block.a = left(s, product) + row / routines_.gemm_rows * routines_.sliver_step(s.depth);
        block.a_row = 0;
        break;
    }
  }

  // The block begins as what is added.
  void start(const GemmBlock<T>& block, const void* from, bool in_place) const {
    const baleen_dtype_t dtype = in_place ? dtypes_.y : dtypes_.c;
    const std::int64_t row = in_place ? c_.m.y : c_.m.c, column = in_place ? c_.n.y : c_.n.c;
    T some[256];
    for (std::int64_t r = 0; r < block.rows; ++r)
      for (std::int64_t j = 0; j < block.columns; j += std::int64_t{std::size(some)}) {
        const std::int64_t count = std::min(std::int64_t{std::size(some)}, block.columns - j);
        load_row(routines_, some, moved(from, r * row + j * column, dtype), dtype, column, count);
        T* const to = block.c + r * block.c_row + j * block.c_column;
        for (std::int64_t i = 0; i < count; ++i) to[i * block.c_column] = some[i];
      }
  }

  const Context& context_;
  const RoutinesOf<T>& routines_;
  bool turned_;
  Contraction c_;
  GemmDtypes dtypes_;
  bool rounds_;  // the result is stored in 16 bits
  std::int64_t batch_;
  Left left_as_ = Left::kOwn;
  bool nothing_ = false;  // an outer loop of the depth is empty
  std::int64_t pieces_of_k_ = 1, depth_ = 0, slices_ = 1, rows_ = 0, group_ = 0, columns_ = 0, height_ = 0;
  std::int64_t right_ = 0, left_ = 0, left_row_ = 0, sums_ = 0, sums_row_ = 0, at_once_ = 1;
  std::uint64_t tile_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Gemm> make_gemm(const Context& context, const GemmDtypes& dtypes, const Contraction& contraction) {
  if (dtypes.y == BALEEN_F64) return std::make_unique<PackedGemm<double>>(context, dtypes, contraction);
  return std::make_unique<PackedGemm<float>>(context, dtypes, contraction);
}

}  // namespace baleen::cpu

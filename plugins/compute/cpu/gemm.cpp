/// \file Cuts a product into slices that are packed, and blocks that are computed from them, both shared by all
/// threads.
#include "gemm.hpp"

#include <algorithm>

namespace baleen::cpu {
namespace {

// Offsets of a run through nested loops.
struct Offsets {
  std::int64_t a = 0, b = 0, y = 0;
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
  }
  return o;
}

constexpr std::int64_t up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }
constexpr std::int64_t pieces(std::int64_t n, std::int64_t of) { return (n + of - 1) / of; }

Contraction transposed(Contraction c) {
  std::swap(c.m, c.n);
  for (Loop* loop : {&c.m, &c.n, &c.k}) std::swap(loop->a, loop->b);
  for (Loop& loop : c.outer) std::swap(loop.a, loop.b);
  return c;
}

/// Each depth slice of at most kDepth is packed (phase one) and then multiplied (phase two), for at most kColumns
/// columns and a batch of products at once, so that what is packed is bounded.
template <class T>
class PackedGemm : public Gemm {
 public:
  PackedGemm(const Context& context, const Contraction& c, bool accumulate)
      : context_(context),
        routines_(context.of<T>()),
        // A result that lies column by column is the product of the transposes.
        turned_(c.n.extent > 1 && c.n.y != 1 && c.m.y == 1),
        c_(turned_ ? transposed(c) : c),
        accumulate_(accumulate),
        left_packed_((c_.k.a != 1 && c_.k.extent > 1) || (c_.m.a == 0 && c_.m.extent > 1)),
        batch_(count(c_.outer)) {
    slices_ = std::max<std::int64_t>(1, pieces(c_.k.extent, kDepth));
    depth_ = pieces(c_.k.extent, slices_);
    columns_ = std::min(up(c_.n.extent, routines_.gemm_columns), kColumns);
    right_ = columns_ / routines_.gemm_columns * routines_.panel_step(depth_);
    left_ = left_packed_ ? up(pieces(c_.m.extent, routines_.gemm_rows) * routines_.sliver_step(depth_), 16) : 0;
    const std::int64_t fit = kPacked / std::max<std::int64_t>(1, (right_ + left_) * std::int64_t{sizeof(T)});
    at_once_ = std::clamp<std::int64_t>(fit, 1, std::max<std::int64_t>(1, batch_));
    rows_ = up(kRows, routines_.gemm_rows);
    group_ = routines_.gemm_columns * kPanels;
  }

  std::uint64_t scratch_bytes() const override {
    return padded(static_cast<std::uint64_t>(at_once_ * (right_ + left_)) * sizeof(T));
  }

  void run(const void* a, const void* b, void* y, void* scratch) override {
    if (c_.m.extent == 0 || c_.n.extent == 0) return;
    if (turned_) std::swap(a, b);
    Slice s{static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(y), static_cast<T*>(scratch)};
    for (s.batch = 0; s.batch < batch_; s.batch += at_once_) {
      s.products = std::min(at_once_, batch_ - s.batch);
      for (s.column = 0; s.column < c_.n.extent; s.column += columns_) {
        s.columns = std::min(columns_, c_.n.extent - s.column);
        for (std::int64_t slice = 0; slice < slices_; ++slice) {
          s.k = slice * depth_;
          s.depth = std::min(depth_, c_.k.extent - s.k);
          s.accumulate = accumulate_ || slice > 0;
          pack(s);
          multiply(s);
        }
      }
    }
  }

 private:
  // fp32 elements of depth and columns in a slice; bytes of what is packed at once, unless one slice has more; rows and
  // panels of a block: the panels of one block stay in a core's second-level cache while its rows pass.
  static constexpr std::int64_t kDepth = 768, kColumns = 2048, kPacked = std::int64_t{4} << 20, kRows = 96, kPanels = 2,
                                kStrip = 64;

  // What is packed and multiplied at a time: some products of the batch, some columns, some depth.
  struct Slice {
    const T* a;
    const T* b;
    T* y;
    T* scratch;
    std::int64_t batch = 0, products = 0, column = 0, columns = 0, k = 0, depth = 0;
    bool accumulate = false;
  };

  T* right(const Slice& s, std::int64_t product) const { return s.scratch + product * right_; }
  T* left(const Slice& s, std::int64_t product) const { return s.scratch + at_once_ * right_ + product * left_; }

  void pack(const Slice& s) const {
    // Where neighbours along the rows or columns are the next elements, memory is read along their whole length, by
    // some of the depth at a time; else some rows or columns along their whole depth.
    const bool right_strips = c_.n.b == 1, left_strips = c_.m.a == 1;
    const std::int64_t strips = pieces(s.depth, kStrip);
    const std::int64_t rights = right_strips ? strips : pieces(s.columns, group_);
    const std::int64_t lefts = !left_packed_ ? 0 : left_strips ? strips : pieces(c_.m.extent, rows_);
    context_.threads.each(s.products * (rights + lefts), [&](std::int64_t task, int) {
      const std::int64_t product = task / (rights + lefts), piece = task % (rights + lefts);
      if (piece < rights)
        pack_right(s, product, piece, right_strips);
      else
        pack_left(s, product, piece - rights, left_strips);
    });
  }

  void pack_right(const Slice& s, std::int64_t product, std::int64_t piece, bool strips) const {
    const Offsets o = at(c_.outer, s.batch + product);
    const std::int64_t j = strips ? 0 : piece * group_, first = strips ? piece * kStrip : 0;
    routines_.pack_right(right(s, product) + j / routines_.gemm_columns * routines_.panel_step(s.depth),
                         s.b + o.b + s.k * c_.k.b + (s.column + j) * c_.n.b, c_.k.b, c_.n.b, s.depth,
                         strips ? s.columns : std::min(group_, s.columns - j), first,
                         strips ? std::min(first + kStrip, s.depth) : s.depth);
  }

  void pack_left(const Slice& s, std::int64_t product, std::int64_t piece, bool strips) const {
    const Offsets o = at(c_.outer, s.batch + product);
    const std::int64_t row = strips ? 0 : piece * rows_, first = strips ? piece * kStrip : 0;
    routines_.pack_left(left(s, product) + row / routines_.gemm_rows * routines_.sliver_step(s.depth),
                        s.a + o.a + s.k * c_.k.a + row * c_.m.a, c_.m.a, c_.k.a,
                        strips ? c_.m.extent : std::min(rows_, c_.m.extent - row), s.depth, first,
                        strips ? std::min(first + kStrip, s.depth) : s.depth);
  }

  void multiply(const Slice& s) const {
    const std::int64_t groups = pieces(s.columns, group_), blocks = pieces(c_.m.extent, rows_);
    context_.threads.each(s.products * groups * blocks, [&](std::int64_t task, int) {
      const std::int64_t product = task / (groups * blocks);
      const std::int64_t j = task / blocks % groups * group_, row = task % blocks * rows_;
      const Offsets o = at(c_.outer, s.batch + product);
      GemmBlock<T> block;
      block.rows = std::min(rows_, c_.m.extent - row);
      block.columns = std::min(group_, s.columns - j);
      block.depth = s.depth;
      block.a = left_packed_ ? left(s, product) + row / routines_.gemm_rows * routines_.sliver_step(s.depth)
                             : s.a + o.a + s.k * c_.k.a + row * c_.m.a;
      block.a_row = left_packed_ ? 0 : std::max<std::int64_t>(1, c_.m.a);  // of a single row it is of no matter
      block.b = right(s, product) + j / routines_.gemm_columns * routines_.panel_step(s.depth);
      block.c = s.y + o.y + row * c_.m.y + (s.column + j) * c_.n.y;
      block.c_row = c_.m.y;
      block.c_column = c_.n.y;
      block.accumulate = s.accumulate;
      routines_.gemm(block);
    });
  }

  const Context& context_;
  const RoutinesOf<T>& routines_;
  bool turned_;
  Contraction c_;
  bool accumulate_, left_packed_;
  std::int64_t batch_, slices_, depth_, columns_, right_, left_, at_once_, rows_, group_;
};

}  // namespace

std::unique_ptr<Gemm> make_gemm(const Context& context, baleen_dtype_t dtype, const Contraction& contraction,
                                bool accumulate) {
  if (dtype == BALEEN_F64) return std::make_unique<PackedGemm<double>>(context, contraction, accumulate);
  return std::make_unique<PackedGemm<float>>(context, contraction, accumulate);
}

}  // namespace baleen::cpu

/// \file reduce: sums (of squares too) and maxima (of magnitudes too) over some dimensions, in an order that depends on
/// the shape alone.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels.hpp"
#include "partials.hpp"
#include "stored_rows.hpp"
#include "walk.hpp"

namespace baleen::cpu {
namespace {

template <class T>
T larger(T a, T b) {
  return a >= b || a != a ? a : b;  // a NaN stays
}

/// Where x's strides of the kept dimensions end and those of the reduced ones begin.
struct Split {
  Walk kept;     // operands: x, y
  Walk reduced;  // operand: x
};

Split split(const Operand& x, const Operand& y, std::span<const std::int64_t> dims, bool keep) {
  std::vector<std::int64_t> kept, reduced, kept_strides[2], reduced_strides[1];
  std::uint32_t in_y = 0;
  for (std::uint32_t d = 0; d < x.rank(); ++d) {
    const bool gone = std::find(dims.begin(), dims.end(), d) != dims.end();
    if (gone) {
      reduced.push_back(x.extent(d));
      reduced_strides[0].push_back(x.stride(d));
    } else {
      kept.push_back(x.extent(d));
      kept_strides[0].push_back(x.stride(d));
      kept_strides[1].push_back(y.stride(in_y));
    }
    if (!gone || keep) ++in_y;
  }
  return {Walk(kept, kept_strides), Walk(reduced, reduced_strides)};
}

/// In eight chains, which do not wait for each other.
template <class T>
T largest_magnitude(const T* x, std::int64_t count) {
  constexpr std::int64_t kChains = 8;
  std::array<T, kChains> most;
  most.fill(-std::numeric_limits<T>::infinity());
  std::int64_t i = 0;
  for (; i + kChains <= count; i += kChains)
    for (std::int64_t j = 0; j < kChains; ++j) most[j] = larger(most[j], std::abs(x[i + j]));
  for (; i < count; ++i) most[0] = larger(most[0], std::abs(x[i]));
  for (std::int64_t j = 1; j < kChains; ++j) most[0] = larger(most[0], most[j]);
  return most[0];
}

/// What is combined: sums of elements or of their squares, or the largest element or magnitude.
enum class Terms { kElements, kSquares, kLargest, kMagnitudes };

template <class T>
class ReduceKernel : public Kernel {
 public:
  ReduceKernel(const Context& context, const Operand& x, const Operand& y, Split split, Terms terms)
      : context_(context),
        x_(x),
        y_(y),
        split_(std::move(split)),
        is_max_(terms == Terms::kLargest || terms == Terms::kMagnitudes),
        terms_(terms),
        stored_(context) {
    by_columns_ = split_.kept.size() > 1 && split_.kept.inner_stride(0) == 1 &&
                  !(split_.reduced.size() > 1 && split_.reduced.inner_stride(0) == 1);
    partials_ = Partials(split_.reduced.size(), by_columns_ ? kBlockRows : kBlockElements, split_.kept.size());
    thread_elements_ = by_columns_ ? (kLevels + 1) * kColumns : kGather;
    scratch_bytes = partials_.template bytes<T>() + static_cast<std::uint64_t>(context.threads.count()) *
                                                        static_cast<std::uint64_t>(thread_elements_) * sizeof(T);
  }

  Status run(const baleen_launch_t& launch) override {
    T* sums = static_cast<T*>(launch.scratch);
    T* memory = sums + partials_.template bytes<T>() / sizeof(T);
    const std::int64_t kept = split_.kept.size(), inner = split_.kept.inner();
    if (kept == 0) return {};
    if (by_columns_)
      columns(launch, sums, memory);
    else
      rows(launch, sums, memory);
    partials_.combine(context_.threads, sums, [this](T a, T b) { return is_max_ ? larger(a, b) : a + b; });
    for (std::int64_t i = 0; i < kept; i += inner)
      store_row(context_.of<T>(), element(launch, y_, split_.kept.offset(1, i)), sums + i, y_.tensor.dtype,
                split_.kept.inner_stride(1), inner);
    return {};
  }

 private:
  static constexpr std::int64_t kBlockRows = 64, kBlockElements = 16384, kColumns = 512, kLevels = 24, kGather = 1024;
  static constexpr std::int64_t kLeafRows = 16;

  // The reduced dimensions hold the packed one: pairwise sums along it.
  void rows(const baleen_launch_t& launch, T* sums, T* memory) const {
    const std::int64_t length = partials_.end(0) - partials_.begin(0);
    const std::int64_t together = std::max<std::int64_t>(1, kBlockElements / std::max<std::int64_t>(1, length));
    const std::int64_t kept = split_.kept.size(), groups = (kept + together - 1) / together;
    context_.threads.each(groups * partials_.blocks(), [&](std::int64_t task, int thread) {
      const std::int64_t block = task / groups, first = task % groups * together;
      for (std::int64_t i = first; i < std::min(kept, first + together); ++i)
        sums[block * partials_.stride() + i] = over(launch, split_.kept.offset(0, i), partials_.begin(block),
                                                    partials_.end(block), memory + thread * kGather);
    });
  }

  T empty() const { return is_max_ ? -std::numeric_limits<T>::infinity() : T(0); }

  // Positions [begin, end) of the reduced dimensions behind an element of x, halved until they lie within one stretch.
  T over(const baleen_launch_t& launch, std::int64_t x, std::int64_t begin, std::int64_t end, T* gathered) const {
    if (begin >= end) return empty();
    const std::int64_t inner = split_.reduced.inner();
    const std::int64_t first_row = begin / inner, last_row = (end - 1) / inner;
    const auto halved = [&](std::int64_t middle) {
      const T left = over(launch, x, begin, middle, gathered), right = over(launch, x, middle, end, gathered);
      return is_max_ ? larger(left, right) : left + right;
    };
    if (first_row != last_row) return halved((first_row + (last_row - first_row + 1) / 2) * inner);
    const std::int64_t stride = split_.reduced.inner_stride(0), from = x + split_.reduced.offset(0, begin);
    const bool direct = stride == 1 && !converts(x_);
    if (!direct && end - begin > kGather) return halved(begin + (end - begin) / 2);
    const RoutinesOf<T>& f = context_.of<T>();
    const T* terms = gathered;
    if (direct)
      terms = static_cast<const T*>(element(launch, x_, from));
    else
      load_row(f, gathered, element(launch, x_, from), x_.tensor.dtype, stride, end - begin);
    if (terms_ == Terms::kSquares) return f.dot(terms, terms, end - begin);
    if (terms_ == Terms::kMagnitudes) return largest_magnitude(terms, end - begin);
    return is_max_ ? f.max(terms, end - begin) : f.sum(terms, end - begin);
  }

  // The kept dimensions hold the packed one: rows of it are added, leaves of 16 rows combined as a tree.
  void columns(const baleen_launch_t& launch, T* sums, T* memory) const {
    const std::int64_t inner = split_.kept.inner(), pieces = (inner + kColumns - 1) / kColumns;
    const std::int64_t outer = split_.kept.size() / inner;
    context_.threads.each(outer * pieces * partials_.blocks(), [&](std::int64_t task, int thread) {
      const std::int64_t block = task / (outer * pieces), rest = task % (outer * pieces);
      const std::int64_t first = rest / pieces * inner + rest % pieces * kColumns;
      const std::int64_t width = std::min(kColumns, inner - rest % pieces * kColumns);
      T* levels = memory + thread * thread_elements_;
      const T* result =
          tree(launch, split_.kept.offset(0, first), partials_.begin(block), partials_.end(block), width, levels);
      std::copy_n(result, width, sums + block * partials_.stride() + first);
    });
  }

  // Returns levels[0], which holds the sum of rows [begin, end) of the columns behind an element of x. A row that must
  // be converted passes through the next level, which is free then.
  const T* tree(const baleen_launch_t& launch, std::int64_t x, std::int64_t begin, std::int64_t end, std::int64_t width,
                T* level) const {
    if (end - begin <= kLeafRows) {
      std::fill_n(level, width, empty());
      for (std::int64_t row = begin; row < end; ++row)
        merge(level, term(launch, x + split_.reduced.offset(0, row), width, level + kColumns), width);
      return level;
    }
    const std::int64_t half = ((end - begin) / 2 + kLeafRows - 1) / kLeafRows * kLeafRows;
    tree(launch, x, begin, begin + half, width, level);
    merge(level, tree(launch, x, begin + half, end, width, level + kColumns), width);
    return level;
  }
  // A row of x, or its squares or magnitudes in `spare`.
  const T* term(const baleen_launch_t& launch, std::int64_t x, std::int64_t width, T* spare) const {
    const T* const row = stored_.read(launch, x_, x, width, spare);
    if (terms_ == Terms::kElements || terms_ == Terms::kLargest) return row;
    for (std::int64_t i = 0; i < width; ++i) spare[i] = terms_ == Terms::kSquares ? row[i] * row[i] : std::abs(row[i]);
    return spare;
  }
  void merge(T* to, const T* from, std::int64_t width) const {
    if (is_max_)
      for (std::int64_t i = 0; i < width; ++i) to[i] = larger(to[i], from[i]);
    else
      context_.of<T>().add_scaled(to, from, T(1), width);
  }

  const Context& context_;
  Operand x_, y_;
  Split split_;
  bool is_max_;
  Terms terms_;
  bool by_columns_;
  std::int64_t thread_elements_;
  StoredAccess<T> stored_;
  Partials partials_;
};

std::unique_ptr<Kernel> make(const Context& context, const Operand& x, const Source& source, Terms terms) {
  const Operand y = source.out(0);
  const bool keep = source.op().integer("keep", 0) != 0;
  return with_float(x.tensor.dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    return std::make_unique<ReduceKernel<T>>(context, x, y, split(x, y, source.op().integers("dims"), keep), terms);
  });
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_reduce(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  const std::string_view kind = source.op().text("kind");
  if (kind != "sum" && kind != "max")
    return invalid("reduce has no kind `" + std::string(kind) + "`; there are `sum` and `max`",
                   std::string(source.op().name()));
  return make(context, source.in(0), source, kind == "max" ? Terms::kLargest : Terms::kElements);
}

Result<std::unique_ptr<Kernel>> make_sum_of_squares(const Context& context, const baleen_region_t& region) {
  return make(context, Source(region, 0).in(0), Source(region, 1), Terms::kSquares);
}

Result<std::unique_ptr<Kernel>> make_largest_magnitude(const Context& context, const baleen_region_t& region) {
  return make(context, Source(region, 0).in(0), Source(region, 1), Terms::kMagnitudes);
}

}  // namespace baleen::cpu

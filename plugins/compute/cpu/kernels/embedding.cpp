/// \file embedding and its gradient, whose sums run in ascending position whatever the threads. A rank that holds some
/// rows of the table passes over the ids of others.
#include <algorithm>
#include <cstring>

#include "ids.hpp"
#include "kernels.hpp"
#include "stored_rows.hpp"

namespace baleen::cpu {
namespace {

// A table's row has the trailing dimensions of y; ids the leading ones.
struct Layout {
  Layout(const Operand& table, const Operand& ids, const Operand& y) : width(1) {
    const std::uint32_t trailing = table.rank() - 1;
    const std::vector<std::int64_t> positions[] = {{ids.tensor.stride, ids.tensor.stride + ids.rank()},
                                                   {y.tensor.stride, y.tensor.stride + ids.rank()}};
    const std::vector<std::int64_t> inside[] = {{table.tensor.stride + 1, table.tensor.stride + table.rank()},
                                                {y.tensor.stride + ids.rank(), y.tensor.stride + y.rank()}};
    leading = Walk({ids.tensor.shape, ids.rank()}, positions);
    row = Walk({table.tensor.shape + 1, trailing}, inside);
    width = row.inner();
    stretches = width > 0 ? row.size() / width : 0;
  }
  Walk leading;                   // operands: ids, y
  Walk row;                       // operands: table, y
  std::int64_t width, stretches;  // a row is so many packed stretches
};

template <class T>
class EmbeddingKernel : public Kernel {
 public:
  explicit EmbeddingKernel(const Context& context, const Source& source)
      : context_(context),
        name_(source.op().name()),
        table_(source.in(0)),
        ids_(source.in(1)),
        y_(source.out(0)),
        rows_(table_, 0),
        layout_(table_, ids_, y_),
        stored_(context) {}

  Status run(const baleen_launch_t& launch) override {
    BALEEN_TRY(check_ids(name_, ids_, layout_.leading, 0, launch, rows_.count()));
    const std::int32_t* ids = ids_.at<const std::int32_t>(launch);
    const Layout& l = layout_;
    context_.threads.pieces(
        l.leading.size(), rows_per_task(l.row.size(), sizeof(T)), [&](std::int64_t begin, std::int64_t end, int) {
          for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t row = rows_.find(ids[l.leading.offset(0, i)]), to = l.leading.offset(1, i);
            for (std::int64_t s = 0; s < l.stretches; ++s)
              copy(launch, to + l.row.offset(1, s * l.width), row,
                   row * table_.stride(0) + l.row.offset(0, s * l.width));
          }
        });
    return {};
  }

 private:
  static constexpr std::int64_t kBuffer = 256;

  // A stretch; through a buffer where the dtypes differ.
  void copy(const baleen_launch_t& launch, std::int64_t to, std::int64_t row, std::int64_t from) const {
    const std::size_t size = dtype_size(y_.tensor.dtype);
    const auto bytes = static_cast<std::size_t>(layout_.width) * size;
    if (row < 0) {
      std::memset(element(launch, y_, to), 0, bytes);  // zero is zero bits in every dtype
    } else if (y_.tensor.dtype == table_.tensor.dtype) {
      std::memcpy(element(launch, y_, to), element(launch, table_, from), bytes);
    } else {
      T buffer[kBuffer];
      for (std::int64_t i = 0; i < layout_.width; i += kBuffer) {
        const std::int64_t count = std::min(kBuffer, layout_.width - i);
        stored_.put(launch, y_, to + i, count, stored_.read(launch, table_, from + i, count, buffer));
      }
    }
  }

  const Context& context_;
  std::string name_;
  Operand table_, ids_, y_;
  HeldIds rows_;
  Layout layout_;
  StoredAccess<T> stored_;
};

template <class T>
class EmbeddingGradKernel : public Kernel {
 public:
  explicit EmbeddingGradKernel(const Context& context, const Source& source)
      : context_(context),
        name_(source.op().name()),
        ids_(source.in(0)),
        dy_(source.in(1)),
        dtable_(source.out(0)),
        rows_(dtable_, 0),
        layout_(dtable_, ids_, dy_),
        stored_(context) {
    if (!converts(dtable_)) return;
    // Sums of 16-bit rows are kept as T until they are complete.
    const std::int64_t held = std::max<std::int64_t>(1, dtable_.extent(0));
    columns_ = std::clamp(kSums / held / 16 * 16, std::int64_t{16}, kColumns);
    sums_ = SpareRows<T>(context, true, 1, held * columns_);
    scratch_bytes = sums_.bytes();
  }

  // Each task owns some columns of the whole table.
  Status run(const baleen_launch_t& launch) override {
    BALEEN_TRY(check_ids(name_, ids_, layout_.leading, 0, launch, rows_.count()));
    const Layout& l = layout_;
    const std::int64_t pieces = (l.width + columns_ - 1) / columns_;
    context_.threads.each(l.stretches * pieces, [&](std::int64_t task, int thread) {
      const std::int64_t position = task / pieces * l.width + task % pieces * columns_;
      const std::int64_t width = std::min(columns_, l.width - task % pieces * columns_), to = l.row.offset(0, position);
      if (!converts(dtable_)) {
        add(launch, static_cast<T*>(element(launch, dtable_, to)), dtable_.stride(0), position, width);
        return;
      }
      T* const sums = sums_.row(launch.scratch, thread, 0);
      add(launch, sums, columns_, position, width);
      for (std::int64_t v = 0; v < dtable_.extent(0); ++v)
        stored_.put(launch, dtable_, to + v * dtable_.stride(0), width, sums + v * columns_);
    });
    return {};
  }

 private:
  static constexpr std::int64_t kColumns = 64, kSums = std::int64_t{1} << 20;  // elements; 4 MiB of fp32 a thread

  // All rows of dy into those of the table, in ascending position.
  void add(const baleen_launch_t& launch, T* table, std::int64_t stride, std::int64_t position,
           std::int64_t width) const {
    const std::int32_t* ids = ids_.at<const std::int32_t>(launch);
    const Layout& l = layout_;
    const std::int64_t from = l.row.offset(1, position);
    T spare[kColumns];
    for (std::int64_t v = 0; v < dtable_.extent(0); ++v) std::fill_n(table + v * stride, width, T(0));
    for (std::int64_t i = 0; i < l.leading.size(); ++i)
      if (const std::int64_t row = rows_.find(ids[l.leading.offset(0, i)]); row >= 0)
        context_.of<T>().add_scaled(
            table + row * stride, stored_.read(launch, dy_, from + l.leading.offset(1, i), width, spare), T(1), width);
  }

  const Context& context_;
  std::string name_;
  Operand ids_, dy_, dtable_;
  HeldIds rows_;
  Layout layout_;
  StoredAccess<T> stored_;
  std::int64_t columns_ = kColumns;
  SpareRows<T> sums_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_embedding(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  BALEEN_TRY(check_id_type(source, source.in(1)));
  return with_float(source.in(0).tensor.dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    return std::make_unique<EmbeddingKernel<T>>(context, source);
  });
}

Result<std::unique_ptr<Kernel>> make_embedding_grad(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  BALEEN_TRY(check_id_type(source, source.in(0)));
  return with_float(source.in(1).tensor.dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    return std::make_unique<EmbeddingGradKernel<T>>(context, source);
  });
}

}  // namespace baleen::cpu

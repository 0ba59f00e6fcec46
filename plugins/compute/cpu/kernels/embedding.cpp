/// \file embedding and its gradient, whose sums run in ascending position whatever the threads. A rank that holds some
/// rows of the table passes over the ids of others.
#include <algorithm>

#include "ids.hpp"
#include "kernels.hpp"

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
        layout_(table_, ids_, y_) {}

  Status run(const baleen_launch_t& launch) override {
    BALEEN_TRY(check_ids(name_, ids_, layout_.leading, 0, launch, rows_.count()));
    const std::int32_t* ids = ids_.at<const std::int32_t>(launch);
    const Layout& l = layout_;
    context_.threads.pieces(l.leading.size(), rows_per_task(l.row.size(), sizeof(T)),
                            [&](std::int64_t begin, std::int64_t end, int) {
                              for (std::int64_t i = begin; i < end; ++i) {
                                const std::int64_t row = rows_.find(ids[l.leading.offset(0, i)]);
                                const T* from = table_.at<const T>(launch) + row * table_.stride(0);
                                T* to = y_.at<T>(launch) + l.leading.offset(1, i);
                                for (std::int64_t s = 0; s < l.stretches; ++s) {
                                  T* stretch = to + l.row.offset(1, s * l.width);
                                  if (row < 0)
                                    std::fill_n(stretch, l.width, T(0));
                                  else
                                    std::copy_n(from + l.row.offset(0, s * l.width), l.width, stretch);
                                }
                              }
                            });
    return {};
  }

 private:
  const Context& context_;
  std::string name_;
  Operand table_, ids_, y_;
  HeldIds rows_;
  Layout layout_;
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
        layout_(dtable_, ids_, dy_) {}

  // Each task owns some columns of the whole table.
  Status run(const baleen_launch_t& launch) override {
    BALEEN_TRY(check_ids(name_, ids_, layout_.leading, 0, launch, rows_.count()));
    const std::int32_t* ids = ids_.at<const std::int32_t>(launch);
    const Layout& l = layout_;
    const std::int64_t pieces = (l.width + kColumns - 1) / kColumns;
    context_.threads.each(l.stretches * pieces, [&](std::int64_t task, int) {
      const std::int64_t position = task / pieces * l.width + task % pieces * kColumns;
      const std::int64_t width = std::min(kColumns, l.width - task % pieces * kColumns);
      T* table = dtable_.at<T>(launch) + l.row.offset(0, position);
      const T* dy = dy_.at<const T>(launch) + l.row.offset(1, position);
      for (std::int64_t v = 0; v < dtable_.extent(0); ++v) std::fill_n(table + v * dtable_.stride(0), width, T(0));
      for (std::int64_t i = 0; i < l.leading.size(); ++i)
        if (const std::int64_t row = rows_.find(ids[l.leading.offset(0, i)]); row >= 0)
          context_.of<T>().add_scaled(table + row * dtable_.stride(0), dy + l.leading.offset(1, i), T(1), width);
    });
    return {};
  }

 private:
  static constexpr std::int64_t kColumns = 64;

  const Context& context_;
  std::string name_;
  Operand ids_, dy_, dtable_;
  HeldIds rows_;
  Layout layout_;
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

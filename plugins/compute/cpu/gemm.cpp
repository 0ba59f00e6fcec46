/// \file oneDNN's matmul, and the reference product.
#include "gemm.hpp"

#include <dnnl.h>

#include <algorithm>
#include <stdexcept>
#include <string>

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

// Any dtype, any strides; parallel over blocks of rows and columns, each summing k in ascending order.
template <class T>
class PlainGemm : public Gemm {
 public:
  PlainGemm(const Context& context, const Contraction& c, bool accumulate)
      : context_(context), c_(c), accumulate_(accumulate) {}

  std::uint64_t scratch_bytes() const override { return 0; }

  void run(const void* a, const void* b, void* y, void*) override {
    constexpr std::int64_t kRows = 96, kColumns = 256;
    const std::int64_t row_blocks = (c_.m.extent + kRows - 1) / kRows;
    const std::int64_t column_blocks = (c_.n.extent + kColumns - 1) / kColumns;
    context_.threads.each(count(c_.outer) * row_blocks * column_blocks, [&](std::int64_t task, int) {
      const std::int64_t row = task % row_blocks * kRows, rest = task / row_blocks;
      const std::int64_t column = rest % column_blocks * kColumns;
      const Offsets o = at(c_.outer, rest / column_blocks);
      const GemmShape shape{std::min(kRows, c_.m.extent - row), std::min(kColumns, c_.n.extent - column), c_.k.extent,
                            c_.m.a, c_.k.a, c_.k.b, c_.n.b, c_.m.y, c_.n.y};
      context_.of<T>().gemm(shape, static_cast<const T*>(a) + o.a + row * c_.m.a,
                            static_cast<const T*>(b) + o.b + column * c_.n.b,
                            static_cast<T*>(y) + o.y + row * c_.m.y + column * c_.n.y, accumulate_);
    });
  }

 private:
  const Context& context_;
  Contraction c_;
  bool accumulate_;
};

void check(dnnl_status_t status, const char* what) {
  if (status != dnnl_success)
    throw std::runtime_error("oneDNN: " + std::string(what) + " failed with status " + std::to_string(status));
}

// Owners of oneDNN's handles.
struct Destroy {
  void operator()(dnnl_engine_t p) const { dnnl_engine_destroy(p); }
  void operator()(dnnl_stream_t p) const { dnnl_stream_destroy(p); }
  void operator()(dnnl_memory_t p) const { dnnl_memory_destroy(p); }
  void operator()(dnnl_primitive_t p) const { dnnl_primitive_destroy(p); }
  void operator()(dnnl_primitive_desc_t p) const { dnnl_primitive_desc_destroy(p); }
  void operator()(dnnl_primitive_attr_t p) const { dnnl_primitive_attr_destroy(p); }
  void operator()(dnnl_post_ops_t p) const { dnnl_post_ops_destroy(p); }
};
template <class T>
using Owned = std::unique_ptr<std::remove_pointer_t<T>, Destroy>;

// The last three of the dimensions (batch, rows, columns) of each operand, in the strides that the contraction gives. A
// stride along an extent of 1 is free; oneDNN wants it to look like a plain matrix.
dnnl_memory_desc_t describe(std::int64_t batch, std::int64_t batch_stride, std::int64_t rows, std::int64_t row_stride,
                            std::int64_t columns, std::int64_t column_stride) {
  if (columns == 1 && row_stride != 1) column_stride = 1;
  if (rows == 1) row_stride = column_stride == 1 ? columns : 1;
  if (columns == 1 && rows > 1 && row_stride == 1) column_stride = rows;
  dnnl_memory_desc_t out;
  if (batch == 0) {
    const dnnl_dims_t dims = {rows, columns}, strides = {row_stride, column_stride};
    check(dnnl_memory_desc_init_by_strides(&out, 2, dims, dnnl_f32, strides), "memory descriptor");
  } else {
    if (batch == 1) batch_stride = rows * columns;
    const dnnl_dims_t dims = {batch, rows, columns}, strides = {batch_stride, row_stride, column_stride};
    check(dnnl_memory_desc_init_by_strides(&out, 3, dims, dnnl_f32, strides), "memory descriptor");
  }
  return out;
}

// One outer loop becomes oneDNN's batch, the rest is iterated here.
class DnnlGemm : public Gemm {
 public:
  // Null where oneDNN has only its slow reference.
  static std::unique_ptr<Gemm> make(const Contraction& c, bool accumulate) {
    const auto broadcast = [](const Loop& loop, std::int64_t x, std::int64_t y) {
      return loop.extent > 1 && (x == 0 || y == 0);
    };
    if (broadcast(c.m, c.m.a, c.m.y) || broadcast(c.n, c.n.b, c.n.y) || broadcast(c.k, c.k.a, c.k.b)) return nullptr;
    // A result that lies column by column is the product of the transposes.
    const bool turned = c.n.extent > 1 && c.n.y != 1 && c.m.y == 1;
    std::unique_ptr<DnnlGemm> gemm(new DnnlGemm(turned ? transposed(c) : c, turned));
    return gemm->build(accumulate) ? std::move(gemm) : nullptr;
  }

  std::uint64_t scratch_bytes() const override { return scratch_bytes_; }

  void run(const void* a, const void* b, void* y, void* scratch) override {
    if (turned_) std::swap(a, b);
    const std::int64_t repeats = count(loops_);
    for (std::int64_t i = 0; i < repeats; ++i) {
      const Offsets o = at(loops_, i);
      set(a_, static_cast<const float*>(a) + o.a);
      set(b_, static_cast<const float*>(b) + o.b);
      set(y_, static_cast<const float*>(y) + o.y);
      set(scratchpad_, static_cast<const float*>(scratch));
      const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, a_.get()},
                                           {DNNL_ARG_WEIGHTS, b_.get()},
                                           {DNNL_ARG_DST, y_.get()},
                                           {DNNL_ARG_SCRATCHPAD, scratchpad_.get()}};
      check(dnnl_primitive_execute(primitive_.get(), stream_.get(), 4, arguments), "matmul");
    }
  }

 private:
  DnnlGemm(const Contraction& c, bool turned) : c_(c), loops_(c.outer), turned_(turned) {}

  static Contraction transposed(Contraction c) {
    std::swap(c.m, c.n);
    for (Loop* loop : {&c.m, &c.n, &c.k}) std::swap(loop->a, loop->b);
    for (Loop& loop : c.outer) std::swap(loop.a, loop.b);
    return c;
  }

  static void set(const Owned<dnnl_memory_t>& memory, const float* address) {
    check(dnnl_memory_set_data_handle(memory.get(), const_cast<float*>(address)), "memory handle");
  }

  bool build(bool accumulate) {
    Loop batch{0, 0, 0, 0};
    const auto longest = std::max_element(loops_.begin(), loops_.end(),
                                          [](const Loop& x, const Loop& y) { return x.extent < y.extent; });
    if (longest != loops_.end()) {
      batch = *longest;
      loops_.erase(longest);
    }
    const auto shared = [&](std::int64_t stride) { return batch.extent > 0 && stride == 0 ? 1 : batch.extent; };
    const auto a = describe(shared(batch.a), batch.a, c_.m.extent, c_.m.a, c_.k.extent, c_.k.a);
    const auto b = describe(shared(batch.b), batch.b, c_.k.extent, c_.k.b, c_.n.extent, c_.n.b);
    const auto y = describe(batch.extent, batch.y, c_.m.extent, c_.m.y, c_.n.extent, c_.n.y);
    return create(a, b, y, accumulate);
  }

  bool create(const dnnl_memory_desc_t& a, const dnnl_memory_desc_t& b, const dnnl_memory_desc_t& y, bool accumulate) {
    dnnl_engine_t engine;
    check(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine");
    engine_.reset(engine);
    dnnl_stream_t stream;
    check(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "stream");
    stream_.reset(stream);
    const auto attributes = make_attributes(accumulate);
    dnnl_matmul_desc_t op;
    if (dnnl_matmul_desc_init(&op, &a, &b, nullptr, &y) != dnnl_success) return false;
    dnnl_primitive_desc_t made;
    if (dnnl_primitive_desc_create(&made, &op, attributes.get(), engine, nullptr) != dnnl_success) return false;
    const Owned<dnnl_primitive_desc_t> description(made);
    const char* implementation = nullptr;
    check(dnnl_primitive_desc_query(made, dnnl_query_impl_info_str, 0, &implementation), "implementation");
    if (std::string_view(implementation).starts_with("ref")) return false;
    dnnl_primitive_t primitive;
    check(dnnl_primitive_create(&primitive, made), "primitive");
    primitive_.reset(primitive);
    const dnnl_memory_desc_t* scratch = dnnl_primitive_desc_query_md(made, dnnl_query_scratchpad_md, 0);
    scratch_bytes_ = dnnl_memory_desc_get_size(scratch);
    a_ = memory(a);
    b_ = memory(b);
    y_ = memory(y);
    scratchpad_ = memory(*scratch);
    return true;
  }

  static Owned<dnnl_primitive_attr_t> make_attributes(bool accumulate) {
    dnnl_primitive_attr_t attributes;
    check(dnnl_primitive_attr_create(&attributes), "attributes");
    Owned<dnnl_primitive_attr_t> owned(attributes);
    check(dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user), "scratchpad mode");
    if (!accumulate) return owned;
    dnnl_post_ops_t post;
    check(dnnl_post_ops_create(&post), "post ops");
    const Owned<dnnl_post_ops_t> owned_post(post);
    check(dnnl_post_ops_append_sum(post, 1.0f), "sum");
    check(dnnl_primitive_attr_set_post_ops(attributes, post), "post ops");
    return owned;
  }

  Owned<dnnl_memory_t> memory(const dnnl_memory_desc_t& description) {
    dnnl_memory_t out;
    check(dnnl_memory_create(&out, &description, engine_.get(), DNNL_MEMORY_NONE), "memory");
    return Owned<dnnl_memory_t>(out);
  }

  Contraction c_;
  std::vector<Loop> loops_;
  bool turned_;
  std::uint64_t scratch_bytes_ = 0;
  Owned<dnnl_engine_t> engine_;
  Owned<dnnl_stream_t> stream_;
  Owned<dnnl_primitive_t> primitive_;
  Owned<dnnl_memory_t> a_, b_, y_, scratchpad_;
};

}  // namespace

std::unique_ptr<Gemm> make_gemm(const Context& context, baleen_dtype_t dtype, const Contraction& contraction,
                                bool accumulate) {
  if (dtype == BALEEN_F64) return std::make_unique<PlainGemm<double>>(context, contraction, accumulate);
  if (contraction.results() > 0 && contraction.k.extent > 0)
    if (auto gemm = DnnlGemm::make(contraction, accumulate)) return gemm;
  return std::make_unique<PlainGemm<float>>(context, contraction, accumulate);
}

}  // namespace baleen::cpu

/// \file attention and its gradient: one task per block of queries of a head, or per group of heads.
#include <algorithm>
#include <limits>

#include "kernels.hpp"
#include "stored_rows.hpp"

namespace baleen::cpu {
namespace {

// Both ops begin with q, k, v and, where `ids` are present, ids_q and ids_k.
struct Common {
  Common(const Source& source, bool has_ids) : q(source.in(0)), k(source.in(1)), v(source.in(2)), masked(has_ids) {
    if (masked) {
      ids_q = source.in(3);
      ids_k = source.in(4);
    }
    batch = q.extent(0);
    heads = q.extent(2);
    groups = k.extent(2);
    shape.queries = q.extent(1);
    shape.keys = k.extent(1);
    shape.width = q.extent(3);
    shape.scale = source.op().number("scale");
    const bool causal = source.op().integer("causal", 0) != 0;
    // Without a causal mask every key is within reach of the first query.
    shape.reach = causal ? shape.keys - shape.queries + 1 : shape.keys;
  }

  AttentionHead head(const baleen_launch_t& launch, std::int64_t b, std::int64_t h, const Operand& o,
                     const Operand& lse) const {
    const std::int64_t g = h / (heads / groups);
    AttentionHead out{};
    out.q = rows<const char>(launch, q, b, h);
    out.k = rows<const char>(launch, k, b, g);
    out.v = rows<const char>(launch, v, b, g);
    out.o = rows<char>(launch, o, b, h);
    out.lse = strided<char>(launch, lse, b * lse.stride(0) + h * lse.stride(1), lse.stride(2));
    if (masked) {
      out.ids_q = {ids_q.at<const std::int32_t>(launch) + b * ids_q.stride(0), ids_q.stride(1)};
      out.ids_k = {ids_k.at<const std::int32_t>(launch) + b * ids_k.stride(0), ids_k.stride(1)};
    }
    return out;
  }

  template <class Byte>
  static StoredRows<Byte> rows(const baleen_launch_t& launch, const Operand& x, std::int64_t b, std::int64_t h) {
    return strided<Byte>(launch, x, b * x.stride(0) + h * x.stride(2), x.stride(1));
  }
  template <class Byte>
  static StoredRows<Byte> strided(const baleen_launch_t& launch, const Operand& x, std::int64_t offset,
                                  std::int64_t stride) {
    const baleen_dtype_t dtype = x.tensor.dtype;
    return {static_cast<Byte*>(element(launch, x, offset)), stride * static_cast<std::int64_t>(dtype_size(dtype)),
            storage_of(dtype)};
  }

  double pairs() const {
    const auto s = static_cast<double>(shape.queries), t = static_cast<double>(shape.keys);
    const double seen = shape.reach < shape.keys ? s * t - s * (s - 1) / 2 : s * t;
    return seen * static_cast<double>(batch * heads);
  }

  Operand q, k, v, ids_q, ids_k;
  bool masked;
  std::int64_t batch, heads, groups;
  AttentionShape shape;
};

template <class T>
std::uint64_t bytes(Index elements) {
  return padded(static_cast<std::uint64_t>(elements) * sizeof(T));
}

template <class T>
class AttentionKernel : public Kernel {
 public:
  AttentionKernel(const Context& context, const Source& source)
      : context_(context), common_(source, source.inputs() > 3), o_(source.out(0)), lse_(source.out(1)) {
    thread_bytes_ = bytes<T>(context.of<T>().attention_scratch(common_.shape));
    scratch_bytes = thread_bytes_ * static_cast<std::uint64_t>(context.threads.count());
    flops = 4 * common_.pairs() * static_cast<double>(common_.shape.width);
  }

  Status run(const baleen_launch_t& launch) override {
    const AttentionShape& shape = common_.shape;
    const std::int64_t heads = common_.batch * common_.heads;
    // Whole heads where there are enough of them and their keys fit the cache; the results are the same.
    const bool whole = shape.keys * shape.width <= kAttentionKept && heads >= 2 * context_.threads.count();
    const std::int64_t together = whole ? std::max(kAttentionBlock, shape.queries) : kAttentionBlock;
    const std::int64_t parts = (shape.queries + together - 1) / together;
    context_.threads.each(heads * parts, [&](std::int64_t task, int thread) {
      // The last queries see most under a causal mask; they come first.
      const std::int64_t begin = (parts - 1 - task % parts) * together, bh = task / parts;
      const auto head = common_.head(launch, bh / common_.heads, bh % common_.heads, o_, lse_);
      char* scratch = static_cast<char*>(launch.scratch) + static_cast<std::uint64_t>(thread) * thread_bytes_;
      context_.of<T>().attention(shape, head, begin, std::min(shape.queries, begin + together),
                                 reinterpret_cast<T*>(scratch));
    });
    return {};
  }

 private:
  const Context& context_;
  Common common_;
  Operand o_, lse_;
  std::uint64_t thread_bytes_;
};

template <class T>
class AttentionGradKernel : public Kernel {
 public:
  AttentionGradKernel(const Context& context, const Source& source)
      : context_(context),
        common_(source, source.inputs() > 6),
        o_(source.in(source.inputs() - 3)),
        lse_(source.in(source.inputs() - 2)),
        do_(source.in(source.inputs() - 1)),
        dq_(source.out(0)),
        dk_(source.out(1)),
        dv_(source.out(2)) {
    together_ = common_.heads / common_.groups;
    work_bytes_ = bytes<T>(context.of<T>().attention_grad_scratch(common_.shape));
    sum_bytes_ = together_ > 1 ? bytes<T>(common_.shape.keys * common_.shape.width) : 0;
    thread_bytes_ = work_bytes_ + (converts(dk_) ? sum_bytes_ : 0) + (converts(dv_) ? sum_bytes_ : 0);
    scratch_bytes = thread_bytes_ * static_cast<std::uint64_t>(context.threads.count());
    flops = 10 * common_.pairs() * static_cast<double>(common_.shape.width);
  }

  Status run(const baleen_launch_t& launch) override {
    context_.threads.each(common_.batch * common_.groups, [&](std::int64_t task, int thread) {
      const std::int64_t b = task / common_.groups, g = task % common_.groups;
      char* scratch = static_cast<char*>(launch.scratch) + static_cast<std::uint64_t>(thread) * thread_bytes_;
      const OutputRows dk = Common::rows<char>(launch, dk_, b, g), dv = Common::rows<char>(launch, dv_, b, g);
      char* const sums = scratch + work_bytes_;
      const OutputRows dk_sums = summed(dk, sums), dv_sums = summed(dv, sums + (converts(dk_) ? sum_bytes_ : 0));
      for (std::int64_t i = 0; i < together_; ++i) {
        const std::int64_t h = g * together_ + i;
        const AttentionGradHead head{common_.head(launch, b, h, o_, lse_), Common::rows<const char>(launch, do_, b, h),
                                     Common::rows<char>(launch, dq_, b, h), dk_sums, dv_sums};
        context_.of<T>().attention_grad(common_.shape, head, i > 0, reinterpret_cast<T*>(scratch));
      }
      finish(dk, dk_sums);
      finish(dv, dv_sums);
    });
    return {};
  }

 private:
  // Where heads of one group add up: the result itself, or memory where it would be rounded for each head.
  OutputRows summed(const OutputRows& result, char* sums) const {
    if (together_ == 1 || result.storage == Storage::kOwn) return result;
    return {sums, common_.shape.width * static_cast<std::int64_t>(sizeof(T)), Storage::kOwn};
  }
  void finish(const OutputRows& result, const OutputRows& sums) const {
    if (sums.storage == result.storage) return;
    for (std::int64_t j = 0; j < common_.shape.keys; ++j)
      context_.of<T>().narrow(result.at(j), reinterpret_cast<const T*>(sums.at(j)), result.storage,
                              common_.shape.width);
  }

  const Context& context_;
  Common common_;
  Operand o_, lse_, do_, dq_, dk_, dv_;
  std::int64_t together_;  // heads of a group
  std::uint64_t work_bytes_, sum_bytes_, thread_bytes_;
};

Status check(const Source& source) {
  const Operand q = source.in(0), k = source.in(1);
  if (q.rank() == 4 && k.rank() == 4 && k.extent(2) > 0 && q.extent(2) % k.extent(2) == 0) return {};
  return invalid("attention of q " + shape_text(q.tensor) + " and k " + shape_text(k.tensor) +
                     ": the heads must be a multiple of the groups",
                 std::string(source.op().name()));
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_attention(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  BALEEN_TRY(check(source));
  return with_float(source.in(0).tensor.dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    return std::make_unique<AttentionKernel<T>>(context, source);
  });
}

Result<std::unique_ptr<Kernel>> make_attention_grad(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  BALEEN_TRY(check(source));
  return with_float(source.in(0).tensor.dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    return std::make_unique<AttentionGradKernel<T>>(context, source);
  });
}

}  // namespace baleen::cpu

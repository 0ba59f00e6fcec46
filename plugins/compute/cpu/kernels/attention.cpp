/// \file attention and its gradient: one task per block of queries of a head, or per group of heads.
#include <algorithm>
#include <limits>

#include "baleen/attention.hpp"
#include "kernels.hpp"
#include "stored_rows.hpp"

namespace baleen::cpu {

using namespace sdk;

namespace {

/// What both ops have in common.
struct Common : AttentionOperands {
  explicit Common(const Source& source) : AttentionOperands(source) {
    shape.queries = queries;
    shape.keys = keys;
    shape.width = width;
    shape.scale = scale;
    shape.reach = reach;
  }

  AttentionHead head(const baleen_launch_t& launch, std::int64_t b, std::int64_t h) const {
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

  AttentionShape shape;
};

template <class T>
std::uint64_t bytes(Index elements) {
  return padded(static_cast<std::uint64_t>(elements) * sizeof(T));
}

template <class T>
class AttentionKernel : public Kernel {
 public:
  AttentionKernel(const Context& context, const Source& source) : context_(context), common_(source) {
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
      const auto head = common_.head(launch, bh / common_.heads, bh % common_.heads);
      char* scratch = static_cast<char*>(launch.scratch) + static_cast<std::uint64_t>(thread) * thread_bytes_;
      context_.of<T>().attention(shape, head, begin, std::min(shape.queries, begin + together),
                                 reinterpret_cast<T*>(scratch));
    });
    return {};
  }

 private:
  const Context& context_;
  Common common_;
  std::uint64_t thread_bytes_;
};

template <class T>
class AttentionGradKernel : public Kernel {
 public:
  AttentionGradKernel(const Context& context, const Source& source) : context_(context), common_(source) {
    together_ = common_.heads / common_.groups;
    work_bytes_ = bytes<T>(context.of<T>().attention_grad_scratch(common_.shape));
    sum_bytes_ = together_ > 1 ? bytes<T>(common_.shape.keys * common_.shape.width) : 0;
    thread_bytes_ = work_bytes_ + (converts(common_.dk) ? sum_bytes_ : 0) + (converts(common_.dv) ? sum_bytes_ : 0);
    scratch_bytes = thread_bytes_ * static_cast<std::uint64_t>(context.threads.count());
    flops = 10 * common_.pairs() * static_cast<double>(common_.shape.width);
  }

  Status run(const baleen_launch_t& launch) override {
    context_.threads.each(common_.batch * common_.groups, [&](std::int64_t task, int thread) {
      const std::int64_t b = task / common_.groups, g = task % common_.groups;
      char* scratch = static_cast<char*>(launch.scratch) + static_cast<std::uint64_t>(thread) * thread_bytes_;
      const OutputRows dk = Common::rows<char>(launch, common_.dk, b, g),
                       dv = Common::rows<char>(launch, common_.dv, b, g);
      char* const sums = scratch + work_bytes_;
      const OutputRows dk_sums = summed(dk, sums), dv_sums = summed(dv, sums + (converts(common_.dk) ? sum_bytes_ : 0));
      for (std::int64_t i = 0; i < together_; ++i) {
        const std::int64_t h = g * together_ + i;
        const AttentionGradHead head{common_.head(launch, b, h), Common::rows<const char>(launch, common_.d_o, b, h),
                                     Common::rows<char>(launch, common_.dq, b, h), dk_sums, dv_sums};
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
  std::int64_t together_;  // heads of a group
  std::uint64_t work_bytes_, sum_bytes_, thread_bytes_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_attention(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  BALEEN_TRY(check_attention(source));
  return with_float(source.in(0).tensor.dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    return std::make_unique<AttentionKernel<T>>(context, source);
  });
}

Result<std::unique_ptr<Kernel>> make_attention_grad(const Context& context, const baleen_region_t& region) {
  const Source source(region);
  BALEEN_TRY(check_attention(source));
  return with_float(source.in(0).tensor.dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
    return std::make_unique<AttentionGradKernel<T>>(context, source);
  });
}

}  // namespace baleen::cpu

/// \file norm and its gradient over rows that threads hold in registers (the gradient's of more than 1024 elements: in
/// shared memory) and read once: a row by a warp, wider ones by a block. The operands' rows have one dtype and lie in
/// packs of 16 bytes; norm.cu takes all others.
#include "device.cuh"
#include "rows.hpp"

namespace baleen::cuda {
namespace {

/// 16 bytes of a row as they lie: words, as the compiler would give each number of 16 bits a register of its own.
struct __attribute__((may_alias, aligned(16))) Raw {
  uint32_t word[4];
};

/// A thread's part of a row of kEach elements of S per thread: packs of 16 bytes, neighbouring threads' being
/// neighbours.
template <class S, int kEach, bool kBlock>
struct Part {
  static constexpr int kWide = 16 / sizeof(S), kPacks = kEach / kWide;

  explicit __device__ Part(int64_t columns) : width(static_cast<int>(columns)) {}
  /// A pack's number in the row.
  __device__ __forceinline__ int number(int pack) const {
    const int threads = static_cast<int>(kBlock ? blockDim.x : 32);
    return pack * threads + static_cast<int>(kBlock ? threadIdx.x : threadIdx.x % 32);
  }
  /// The first element of a pack.
  __device__ __forceinline__ int at(int pack) const { return number(pack) * kWide; }
  __device__ __forceinline__ bool has(int pack) const { return at(pack) < width; }
  /// As they lie, so that no load waits for the conversion of another one's; zeros behind the end.
  __device__ __forceinline__ void load(const S* row, Raw (&out)[kPacks]) const {
    BALEEN_UNROLL
    for (int p = 0; p < kPacks; ++p) out[p] = has(p) ? *reinterpret_cast<const Raw*>(row + at(p)) : Raw{};
  }
  int width;
};

template <class S>
__device__ __forceinline__ void widen_raw(const Raw& raw, float (&out)[16 / sizeof(S)]) {
  Packed<S, 16 / sizeof(S)> pack;
  memcpy(&pack, &raw, sizeof pack);
  BALEEN_UNROLL
  for (int k = 0; k < static_cast<int>(16 / sizeof(S)); ++k) out[k] = widen(pack.at[k]);
}
/// Makes packs unknown to the compiler, which then widens them anew and keeps no registers for the numbers.
template <int kPacks>
__device__ __forceinline__ void forget(Raw (&packs)[kPacks]) {
  BALEEN_UNROLL
  for (Raw& raw : packs) BALEEN_UNROLL
  for (uint32_t& word : raw.word) asm volatile("" : "+r"(word));
}

template <bool kBlock>
__device__ __forceinline__ float sum_row(float x) {
  return kBlock ? fold_block<Sum<float>>(x) : fold_warp<Sum<float>>(x);
}

/// Writes y of a row in registers; gamma and beta have dtype G.
template <class G, class S, int kEach, bool kBlock, int kPacks, int kWide>
__device__ __forceinline__ void write_normal(const NormArgs& args, const Part<S, kEach, kBlock>& part, S* y,
                                             const float (&x)[kPacks][kWide], float mean, float rstd) {
  BALEEN_UNROLL
  for (int p = 0; p < kPacks; ++p) {
    if (!part.has(p)) continue;
    Packed<G, kWide> gammas = {}, betas = {};
    gammas = *reinterpret_cast<const Packed<G, kWide>*>(static_cast<const G*>(args.gamma.data) + part.at(p));
    if (args.beta.data)
      betas = *reinterpret_cast<const Packed<G, kWide>*>(static_cast<const G*>(args.beta.data) + part.at(p));
    float gamma[kWide], beta[kWide], out[kWide];
    BALEEN_UNROLL
    for (int k = 0; k < kWide; ++k) gamma[k] = widen(gammas.at[k]);
    BALEEN_UNROLL
    for (int k = 0; k < kWide; ++k) beta[k] = widen(betas.at[k]);
    BALEEN_UNROLL
    for (int k = 0; k < kWide; ++k) out[k] = (x[p][k] - mean) * rstd * gamma[k] + beta[k];
    store_as<S>(y, part.at(p), out);
  }
}

template <class S, int kEach, bool kBlock>
__device__ __forceinline__ void norm_row(const NormArgs& args) {
  using Mine = Part<S, kEach, kBlock>;
  const int64_t row = kBlock ? blockIdx.x : static_cast<int64_t>(blockIdx.x) * kRowsOfBlock + threadIdx.x / 32;
  if (row >= args.rows.leading.size) return;
  int64_t at[4];
  args.rows.leading.offsets(row, at);
  const Mine part(args.rows.width);
  float x[Mine::kPacks][Mine::kWide];
  {
    Raw packs[Mine::kPacks];
    part.load(static_cast<const S*>(args.x.data) + at[0], packs);
    BALEEN_UNROLL
    for (int p = 0; p < Mine::kPacks; ++p) widen_raw<S>(packs[p], x[p]);
  }
  const float width = static_cast<float>(args.rows.width);
  float mean = 0, squares = 0;
  if (args.mean.data) {
    BALEEN_UNROLL
    for (const auto& pack : x) BALEEN_UNROLL
    for (const float one : pack) mean += one;
    mean = sum_row<kBlock>(mean) / width;
  }
  BALEEN_UNROLL
  for (int p = 0; p < Mine::kPacks; ++p) {
    if (!part.has(p)) continue;
    BALEEN_UNROLL
    for (const float one : x[p]) squares += (one - mean) * (one - mean);
  }
  const float rstd = 1.0f / sqrtf(sum_row<kBlock>(squares) / width + static_cast<float>(args.epsilon));
  S* y = static_cast<S*>(args.y.data) + at[1];
  if (args.gamma.stored == kStoredF32)
    write_normal<float>(args, part, y, x, mean, rstd);
  else
    write_normal<S>(args, part, y, x, mean, rstd);
  if ((kBlock ? threadIdx.x : threadIdx.x % 32) != 0) return;
  store(args.rstd, at[2], rstd);
  if (args.mean.data) store(args.mean, at[3], mean);
}

/// What the gradient needs of a row, as it lies.
template <class S, int kEach, bool kBlock>
struct GradRow {
  using Mine = Part<S, kEach, kBlock>;
  static constexpr bool kAdds = true;

  __device__ __forceinline__ void fetch(const NormGradArgs& args, const Mine& part, int64_t row) {
    int64_t at[6];
    args.rows.leading.offsets(row, at);
    part.load(static_cast<const S*>(args.x.data) + at[0], x);
    part.load(static_cast<const S*>(args.dy.data) + at[1], dy);
    dx = static_cast<S*>(args.dx.data) + at[2];
    added = static_cast<const S*>(args.added.data) + at[5];
    rstd = static_cast<const float*>(args.rstd.data)[at[3]];
    mean = args.layer ? static_cast<const float*>(args.mean.data)[at[4]] : 0.0f;
  }
  __device__ __forceinline__ const Raw& x_of(const Mine&, int pack) const { return x[pack]; }
  __device__ __forceinline__ const Raw& dy_of(const Mine&, int pack) const { return dy[pack]; }
  __device__ __forceinline__ S* result(const NormGradArgs&, int64_t) const { return dx; }
  __device__ __forceinline__ const S* to_add(const NormGradArgs&, int64_t) const { return added; }
  /// Before the packs are read once more.
  __device__ __forceinline__ void again() {
    forget(x);
    forget(dy);
  }

  Raw x[Mine::kPacks], dy[Mine::kPacks];
  S* dx;
  const S* added;
  float rstd, mean;
};

/// The same of a row that comes through shared memory: x, and dy behind it. Each lane reads what it has copied itself.
/// Registers are scarce here: what can be computed anew is.
template <class S, int kEach>
struct StagedRow {
  using Mine = Part<S, kEach, false>;
  static constexpr bool kAdds = kEach <= kMostAdded;  ///< more would leave no registers

  __device__ __forceinline__ void fetch(const NormGradArgs& args, const Mine& part, int64_t row, S* stage) {
    int64_t at[6];
    args.rows.leading.offsets(row, at);
    place = stage;
    BALEEN_UNROLL
    for (int p = 0; p < Mine::kPacks; ++p) {
      if (!part.has(p)) continue;
      begin_copy(place + part.at(p), static_cast<const S*>(args.x.data) + at[0] + part.at(p));
      begin_copy(place + part.width + part.at(p), static_cast<const S*>(args.dy.data) + at[1] + part.at(p));
    }
    rstd = static_cast<const float*>(args.rstd.data)[at[3]];
    mean = args.layer ? static_cast<const float*>(args.mean.data)[at[4]] : 0.0f;
  }
  __device__ __forceinline__ S* result(const NormGradArgs& args, int64_t row) const {
    int64_t at[6];
    args.rows.leading.offsets(row, at);
    return static_cast<S*>(args.dx.data) + at[2];
  }
  __device__ __forceinline__ const S* to_add(const NormGradArgs& args, int64_t row) const {
    int64_t at[6];
    args.rows.leading.offsets(row, at);
    return static_cast<const S*>(args.added.data) + at[5];
  }
  __device__ __forceinline__ Raw x_of(const Mine& part, int pack) const {
    return *reinterpret_cast<const Raw*>(place + part.at(pack));
  }
  __device__ __forceinline__ Raw dy_of(const Mine& part, int pack) const {
    return *reinterpret_cast<const Raw*>(place + part.width + part.at(pack));
  }
  __device__ __forceinline__ void again() {}

  S* place;
  float rstd, mean;
};

/// Quads of columns in shared memory: the first ones of all packs of kWide, then the second ones, so that threads that
/// take packs meet no other one's bank.
using Quad = Packed<float, 4>;
template <int kWide>
__device__ __forceinline__ int slot(int width, int column) {
  const unsigned at = static_cast<unsigned>(column);
  return static_cast<int>((at % kWide / 4 * (static_cast<unsigned>(width) / kWide) + at / kWide) * 4 + at % 4);
}

/// The sums of a and b over a row's threads. `turn` is the row's number: two rows in a row use different
/// shared memory, so that one barrier does.
template <bool kBlock>
__device__ __forceinline__ void sum_both(float& a, float& b, int64_t turn) {
  for (int lane = 16; lane > 0; lane /= 2) {
    a += __shfl_xor_sync(0xffffffffu, a, lane);
    b += __shfl_xor_sync(0xffffffffu, b, lane);
  }
  if (!kBlock) return;
  __shared__ float parts[2][kMostHeldGrad / (32 * kHeldByThread)][2];
  auto& now = parts[turn % 2];
  const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
  if (threadIdx.x % 32 == 0) now[warp][0] = a, now[warp][1] = b;
  __syncthreads();
  a = b = 0;
  for (unsigned i = 0; i < warps; ++i) a += now[i][0], b += now[i][1];
}

/// The columns of a thread: gamma in shared memory, and the sums for dgamma and dbeta.
template <class S, int kEach, bool kBlock>
struct Columns {
  using Mine = Part<S, kEach, kBlock>;
  static constexpr int kPacks = Mine::kPacks, kWide = Mine::kWide;

  /// Shared memory holds gamma, and for rows of warps the sums.
  __device__ __forceinline__ Columns(const NormGradArgs& args, const Mine& mine)
      : part(mine), gamma(reinterpret_cast<float*>(BALEEN_SHARED_MEMORY())) {
    for (int i = static_cast<int>(threadIdx.x) * 4; i < part.width; i += static_cast<int>(blockDim.x) * 4) {
      Quad quad;
      load_pack(args.gamma, i, quad.at);
      *reinterpret_cast<Quad*>(gamma + slot<kWide>(part.width, i)) = quad;
    }
    __syncthreads();
  }
  /// The quad from column k of a pack on.
  __device__ __forceinline__ Quad* quad_of(float* columns, int pack, int k) const {
    return reinterpret_cast<Quad*>(columns) + k / 4 * (part.width / kWide) + part.number(pack);
  }
  __device__ __forceinline__ void gamma_of(int pack, float (&out)[kWide]) const {
    BALEEN_UNROLL
    for (int k = 0; k < kWide; k += 4) {
      const Quad quad = *quad_of(gamma, pack, k);
      BALEEN_UNROLL
      for (int i = 0; i < 4; ++i) out[k + i] = quad.at[i];
    }
  }

  /// Adds a row's part and writes its dx = rstd (dy g - mean(dy g) - n mean(dy g n)), n being (x - mean) rstd, and what
  /// is added to it.
  template <class Row>
  __device__ __forceinline__ void take(const NormGradArgs& args, Row& row, int64_t turn) {
    const float width = static_cast<float>(part.width);
    float dot = 0, total = 0;
    BALEEN_UNROLL
    for (int p = 0; p < kPacks; ++p) {
      if (!part.has(p)) continue;
      float x[kWide], dy[kWide], g[kWide];
      gamma_of(p, g);
      widen_raw<S>(row.x_of(part, p), x);
      widen_raw<S>(row.dy_of(part, p), dy);
      BALEEN_UNROLL
      for (int k = 0; k < kWide; ++k) {
        const float normal = (x[k] - row.mean) * row.rstd;
        dot += dy[k] * g[k] * normal;
        total += dy[k] * g[k];
        dgamma[p][k] += dy[k] * normal;
        dbeta[p][k] += dy[k];
      }
    }
    sum_both<kBlock>(dot, total, turn);
    const float of_x = -row.rstd * row.rstd * (dot / width), of_all = args.layer ? -row.rstd * (total / width) : 0.0f;
    row.again();
    S* const dx = row.result(args, turn);
    BALEEN_UNROLL
    for (int p = 0; p < kPacks; ++p) {
      if (!part.has(p)) continue;
      float x[kWide], dy[kWide], g[kWide];
      gamma_of(p, g);
      widen_raw<S>(row.x_of(part, p), x);
      widen_raw<S>(row.dy_of(part, p), dy);
      BALEEN_UNROLL
      for (int k = 0; k < kWide; ++k) x[k] = dy[k] * g[k] * row.rstd + ((x[k] - row.mean) * of_x + of_all);
      if constexpr (Row::kAdds)
        if (args.adds) add_pack(row.to_add(args, turn) + part.at(p), x);
      store_as<S>(dx, part.at(p), x);
    }
  }

  static __device__ __forceinline__ void add_pack(const S* from, float (&to)[kWide]) {
    float more[kWide];
    widen_raw<S>(*reinterpret_cast<const Raw*>(from), more);
    BALEEN_UNROLL
    for (int k = 0; k < kWide; ++k) to[k] = add_apart(as_stored<S>(to[k]), more[k]);
  }

  /// Adds a pack's sums to a quad, or sets it where they are the first.
  static __device__ __forceinline__ void give(const float (&sums)[kWide], int k, bool first, Quad* to) {
    Quad quad = {};
    if (!first) quad = *to;
    BALEEN_UNROLL
    for (int i = 0; i < 4; ++i) quad.at[i] += sums[k + i];
    *to = quad;
  }

  /// Writes the block's sums: dgamma's, then dbeta's.
  __device__ __forceinline__ void finish(const NormGradArgs& args) const {
    const int width = part.width, columns = args.has_beta ? 2 * width : width;
    float* out = static_cast<float*>(args.partials) + static_cast<int64_t>(blockIdx.x) * columns;
    float* sums = gamma + width;
    for (unsigned warp = 0; warp < (kBlock ? 1 : kRowsOfBlock); ++warp) {  // in their order
      BALEEN_UNROLL
      for (int p = 0; p < kPacks; ++p) {
        if (!part.has(p) || (!kBlock && threadIdx.x / 32 != warp)) continue;
        BALEEN_UNROLL
        for (int k = 0; k < kWide; k += 4) {
          Quad* to = kBlock ? reinterpret_cast<Quad*>(out + part.at(p) + k) : quad_of(sums, p, k);
          give(dgamma[p], k, warp == 0, to);
          if (args.has_beta) give(dbeta[p], k, warp == 0, to + width / 4);
        }
      }
      __syncthreads();
    }
    for (int i = static_cast<int>(threadIdx.x); !kBlock && i < columns; i += static_cast<int>(blockDim.x))
      out[i] = sums[i < width ? slot<kWide>(width, i) : width + slot<kWide>(width, i - width)];
  }

  Mine part;
  float* gamma;
  float dgamma[kPacks][kWide] = {}, dbeta[kPacks][kWide] = {};
};

template <class S, int kEach, bool kBlock>
__device__ __forceinline__ void norm_grad_rows(const NormGradArgs& args) {
  const Part<S, kEach, kBlock> part(args.rows.width);
  const int64_t rows = args.rows.leading.size;
  const int64_t begin = rows * blockIdx.x / gridDim.x, end = rows * (blockIdx.x + 1) / gridDim.x;
  constexpr int64_t kStep = kBlock ? 1 : kRowsOfBlock;
  int64_t row = begin + (kBlock ? 0 : threadIdx.x / 32);
  GradRow<S, kEach, kBlock> now, next;
  if (row < end) next.fetch(args, part, row);
  Columns<S, kEach, kBlock> columns(args, part);
  for (; row < end; row += kStep) {
    now = next;
    if (row + kStep < end) next.fetch(args, part, row + kStep);
    columns.take(args, now, row);
  }
  columns.finish(args);
}

/// Shared memory holds gamma, and behind it the warps' rows, and at the end the sums.
template <class S, int kEach>
__device__ __forceinline__ void norm_grad_staged(const NormGradArgs& args) {
  const Part<S, kEach, false> part(args.rows.width);
  const int64_t rows = args.rows.leading.size;
  const int64_t begin = rows * blockIdx.x / gridDim.x, end = rows * (blockIdx.x + 1) / gridDim.x;
  const int warp = static_cast<int>(threadIdx.x / 32);
  S* stages = reinterpret_cast<S*>(reinterpret_cast<float*>(BALEEN_SHARED_MEMORY()) + part.width) +
              warp * kStages * 2 * part.width;
  StagedRow<S, kEach> ahead[kStages];
  int64_t row = begin + warp;
  BALEEN_UNROLL
  for (int i = 0; i < kStages; ++i) {
    if (row + i * kRowsOfBlock < end) ahead[i].fetch(args, part, row + i * kRowsOfBlock, stages + i * 2 * part.width);
    end_copies();
  }
  Columns<S, kEach, false> columns(args, part);
  for (; row < end; row += kStages * kRowsOfBlock) {
    BALEEN_UNROLL
    for (int i = 0; i < kStages; ++i) {
      const int64_t mine = row + i * kRowsOfBlock, next = mine + kStages * kRowsOfBlock;
      if (mine >= end) break;
      wait_for_copies<kStages - 1>();
      columns.take(args, ahead[i], mine);
      if (next < end) ahead[i].fetch(args, part, next, stages + i * 2 * part.width);
      end_copies();
    }
  }
  wait_for_copies<0>();
  __syncthreads();  // all warps have read their last rows, where the sums come
  columns.finish(args);
}

}  // namespace

#define BALEEN_NORM_ROW_BY_WARP(S, name, each)                                                             \
  BALEEN_RESIDENT_KERNEL(32 * kRowsOfBlock, norm_resident(each), baleen_norm_warp##each##name, NormArgs) { \
    norm_row<S, each, false>(args);                                                                        \
  }
#define BALEEN_NORM_STAGED(S, name, each)                                                                   \
  BALEEN_RESIDENT_KERNEL(32 * kRowsOfBlock, norm_grad_resident(2, each), baleen_norm_grad_warp##each##name, \
                         NormGradArgs) {                                                                    \
    norm_grad_staged<S, each>(args);                                                                        \
  }
#define BALEEN_NORM_BY_WARP(S, name, each)                                                                          \
  BALEEN_NORM_ROW_BY_WARP(S, name, each)                                                                            \
  BALEEN_RESIDENT_KERNEL(32 * kRowsOfBlock, norm_grad_resident(sizeof(S), each), baleen_norm_grad_warp##each##name, \
                         NormGradArgs) {                                                                            \
    norm_grad_rows<S, each, false>(args);                                                                           \
  }
#define BALEEN_NORM_OF_ROWS(S, name)                                                         \
  BALEEN_NORM_BY_WARP(S, name, 16)                                                           \
  BALEEN_NORM_BY_WARP(S, name, 24)                                                           \
  BALEEN_NORM_BY_WARP(S, name, 32)                                                           \
  BALEEN_NORM_ROW_BY_WARP(S, name, 40)                                                       \
  BALEEN_NORM_ROW_BY_WARP(S, name, 56)                                                       \
  BALEEN_NORM_ROW_BY_WARP(S, name, 64)                                                       \
  BALEEN_KERNEL(kMostHeld / kHeldByThread, baleen_norm_block##name, NormArgs) {              \
    norm_row<S, kHeldByThread, true>(args);                                                  \
  }                                                                                          \
  BALEEN_KERNEL(kMostHeldGrad / kHeldByThread, baleen_norm_grad_block##name, NormGradArgs) { \
    norm_grad_rows<S, kHeldByThread, true>(args);                                            \
  }
BALEEN_NORM_OF_ROWS(float, _f32)
BALEEN_NORM_OF_ROWS(__nv_bfloat16, _bf16)
BALEEN_NORM_OF_ROWS(__half, _f16)
BALEEN_NORM_STAGED(__nv_bfloat16, _bf16, 40)
BALEEN_NORM_STAGED(__nv_bfloat16, _bf16, 56)
BALEEN_NORM_STAGED(__half, _f16, 40)
BALEEN_NORM_STAGED(__half, _f16, 56)

}  // namespace baleen::cuda

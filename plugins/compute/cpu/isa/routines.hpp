/// \file The inner loops that exist once per instruction set, as tables of functions.
#pragma once
#include <cstddef>
#include <cstdint>

namespace baleen::cpu {

using Index = std::int64_t;

/// How the elements of an operand lie in memory: as the type that computes, or beside fp32 in 16 or 8 bits.
enum class Storage : std::uint32_t { kOwn, kBf16, kFp16, kE4m3, kE5m2 };

/// Queries and keys of one block of attention.
constexpr Index kAttentionBlock = 64;
/// Up to so many elements a head's keys are packed once for all its queries, which are then given in one call.
constexpr Index kAttentionKept = 65536;

/// out[i] = f(a[i], b[i], c[i]) for i < n; unused operands are null. out may equal any operand.
template <class T>
using TileOp = void (*)(T* out, const T* a, const T* b, const T* c, Index n);

/// c[rows, columns] (+)= a[rows, depth] b[depth, columns], where b lies as `pack_right` leaves it, and a as `pack_left`
/// does (a_row 0) or with contiguous rows. Each element's sum runs over the depth in ascending order before it is
/// added.
template <class T>
struct GemmBlock {
  Index rows, columns, depth;
  const T* a;
  Index a_row;
  const T* b;
  T* c;
  Index c_row, c_column;
  bool accumulate;
};

/// A sequence of rows of stride-1 elements inside a larger tensor.
template <class T>
struct Rows {
  T* data;
  Index stride;
  T* at(Index row) const { return data + row * stride; }
};

/// The same of elements that may be stored otherwise than they are computed with. `Byte` is char or const char.
template <class Byte>
struct StoredRows {
  Byte* data;
  Index stride;  ///< in bytes
  Storage storage;
  Byte* at(Index row) const { return data + row * stride; }
};
using InputRows = StoredRows<const char>;
using OutputRows = StoredRows<char>;

/// What one attention call's heads share.
struct AttentionShape {
  Index queries, keys, width;
  Index reach;  ///< query s sees keys t < s + reach (all of them where not causal)
  double scale;
};

/// One head. The ids are null without a mask; a pair is seen only if its ids are equal and >= 0.
struct AttentionHead {
  InputRows q, k, v;
  OutputRows o;
  OutputRows lse;  ///< rows of one element
  Rows<const std::int32_t> ids_q, ids_k;
};

/// One head's gradient: `forward.o` and `forward.lse` are read. dk and dv are shared by the heads of a group; what is
/// added to must not be stored in 16 bits.
struct AttentionGradHead {
  AttentionHead forward;
  InputRows d_o;
  OutputRows dq, dk, dv;
};

template <class T>
struct RoutinesOf {
  /// The loop of an expression's opcode, or null for opcodes that are not elementwise functions of operands.
  TileOp<T> (*tile_op)(std::uint32_t opcode);
  /// What an expression's UNIFORM and NORMAL give for the n elements from `element` of the global tensor.
  void (*uniform)(T* out, std::uint64_t element, Index n, std::uint64_t key, std::uint64_t step);
  void (*normal)(T* out, std::uint64_t element, Index n, std::uint64_t key, std::uint64_t step);
  /// Packed rows of n elements: to T, to what is stored (rounded to nearest even), and rounded so but kept as T.
  void (*widen)(T* out, const void* in, Storage, Index n);
  void (*narrow)(void* out, const T* in, Storage, Index n);
  void (*round)(T* out, const T* in, Storage, Index n);
  /// Pairwise sum; its order depends on n alone.
  T (*sum)(const T* x, Index n);
  T (*max)(const T* x, Index n);
  /// out[i] = exp(x[i] - shift); returns the pairwise sum.
  T (*exp_shifted)(T* out, const T* x, T shift, Index n);
  /// Pairwise sum of a[i] * b[i].
  T (*dot)(const T* a, const T* b, Index n);
  /// acc[i] += factor * x[i]
  void (*add_scaled)(T* acc, const T* x, T factor, Index n);
  /// One row of layer norm (mean_out not null) or rms norm; beta may be null.
  void (*norm_row)(T* y, const T* x, const T* gamma, const T* beta, T epsilon, Index n, T* rstd, T* mean);
  /// One row of the gradient, to which `added` is added unless it is null (it lies elsewhere than dx); adds to dgamma
  /// and, unless null, dbeta. `mean` is null for rms norm.
  void (*norm_grad_row)(T* dx, const T* x, const T* gamma, const T* dy, const T* added, T rstd, const T* mean, Index n,
                        T* dgamma, T* dbeta);
  /// The tile that blocks of `gemm` should be made of.
  Index gemm_rows, gemm_columns;
  /// Elements from one packed sliver of gemm_rows rows to the next, and from one panel of gemm_columns columns.
  Index (*sliver_step)(Index depth);
  Index (*panel_step)(Index depth);
  /// A sliver for every gemm_rows rows, begun or whole. Any strides. Writes [first, last) of the depth.
  void (*pack_left)(T* out, const void* a, Storage, Index a_row, Index a_column, Index rows, Index depth, Index first,
                    Index last);
  /// A panel for every gemm_columns columns, aligned to 64 bytes. Any strides. Writes [first, last) of the depth.
  void (*pack_right)(T* out, const void* b, Storage, Index b_row, Index b_column, Index depth, Index columns,
                     Index first, Index last);
  void (*gemm)(const GemmBlock<T>&);
  /// Elements of scratch that a call of the function below needs.
  Index (*attention_scratch)(const AttentionShape&);
  /// Writes o and lse of queries [begin, end), begin being a multiple of kAttentionBlock; more than one block of them
  /// only where keys * width <= kAttentionKept.
  void (*attention)(const AttentionShape&, const AttentionHead&, Index begin, Index end, T* scratch);
  Index (*attention_grad_scratch)(const AttentionShape&);
  /// Writes dq; writes dk and dv, or adds to them.
  void (*attention_grad)(const AttentionShape&, const AttentionGradHead&, bool add, T* scratch);
};

/// The instructions of loops that are made at plan time; kNone: there are no such loops.
enum class LoopIsa { kNone, kAvx2, kAvx512 };

struct Routines {
  const char* name;
  /// For what fused_loop.hpp makes.
  LoopIsa loops;
  /// Independent chains of fp32 multiply-adds; how many operations that was.
  double (*multiply_adds)(Index steps);
  /// Reads four arrays and writes three of them, n elements each.
  void (*seven_words)(float* a, float* b, float* c, const float* d, Index n);
  RoutinesOf<float> f32;
  RoutinesOf<double> f64;
};

const Routines& routines_baseline();
const Routines& routines_avx2();
const Routines& routines_avx512();

/// The best that this processor runs.
const Routines& best_routines();

}  // namespace baleen::cpu

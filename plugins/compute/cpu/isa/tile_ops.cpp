/// \file The inner loop of every elementwise opcode. Compiled without contraction: a fused expression gives the bits of
/// an unfused one.
#include "baleen/expression.h"
#include "baleen/base.h"
#include "math.hpp"
#include "routines.hpp"
#include "tables.hpp"

namespace baleen::cpu::BALEEN_CPU_ISA {
namespace {

template <class T> constexpr T kLargest = sizeof(T) == 4 ? T(3.40282347e38f) : T(1.7976931348623157e308);

#define BALEEN_FUNCTION(name, arguments, value)        \
  struct name {                                        \
    template <class T>                                 \
    static BALEEN_INLINE T at arguments { return value; } \
  };

BALEEN_FUNCTION(Neg, (T x), -x)
BALEEN_FUNCTION(Abs, (T x), magnitude(x))
BALEEN_FUNCTION(Sign, (T x), x > T(0) ? T(1) : x < T(0) ? T(-1) : x)
BALEEN_FUNCTION(Sqrt, (T x), root(x))
BALEEN_FUNCTION(Rsqrt, (T x), T(1) / root(x))
BALEEN_FUNCTION(Exp, (T x), exp_of(x))
BALEEN_FUNCTION(Log, (T x), log_of(x))
BALEEN_FUNCTION(Tanh, (T x), tanh_of(x))
BALEEN_FUNCTION(Erf, (T x), erf_of(x))
BALEEN_FUNCTION(Sigmoid, (T x), sigmoid_of(x))
BALEEN_FUNCTION(Relu, (T x), x < T(0) ? T(0) : x)
BALEEN_FUNCTION(Silu, (T x), x / (T(1) + exp_of(-x)))
BALEEN_FUNCTION(IsFinite, (T x), magnitude(x) <= kLargest<T> ? T(1) : T(0))
BALEEN_FUNCTION(Add, (T a, T b), a + b)
BALEEN_FUNCTION(Sub, (T a, T b), a - b)
BALEEN_FUNCTION(Mul, (T a, T b), a * b)
BALEEN_FUNCTION(Div, (T a, T b), a / b)
BALEEN_FUNCTION(Max, (T a, T b), a < b || b != b ? b : a)
BALEEN_FUNCTION(Min, (T a, T b), a > b || b != b ? b : a)
BALEEN_FUNCTION(Pow, (T a, T b), static_cast<T>(__builtin_pow(static_cast<double>(a), static_cast<double>(b))))
BALEEN_FUNCTION(Less, (T a, T b), a < b ? T(1) : T(0))
BALEEN_FUNCTION(LessEqual, (T a, T b), a <= b ? T(1) : T(0))
BALEEN_FUNCTION(Equal, (T a, T b), a == b ? T(1) : T(0))
BALEEN_FUNCTION(NotEqual, (T a, T b), a != b ? T(1) : T(0))
BALEEN_FUNCTION(Gelu, (T x), x * normal_below(x, normal_tail(magnitude(x))))

struct Floor {
  static BALEEN_INLINE float at(float x) { return __builtin_floorf(x); }
  static BALEEN_INLINE double at(double x) { return __builtin_floor(x); }
};
struct GeluGrad {
  template <class T>
  static BALEEN_INLINE T at(T x) {
    const NormalTail<T> t = normal_tail(magnitude(x));
    return normal_below(x, t) + x * t.density;
  }
};

// tanh(u) = 2 sigmoid(2u) - 1, so x (1 + tanh u) / 2 = x sigmoid(2u): no cancellation for negative x.
template <class T>
BALEEN_INLINE T gelu_tanh_argument(T x) {
  return T(1.5957691216057307117597842397375) * (x + T(0.044715) * (x * x * x));
}
struct GeluTanh {
  template <class T>
  static BALEEN_INLINE T at(T x) {
    return x * sigmoid_of(gelu_tanh_argument(x));
  }
};
struct GeluTanhGrad {
  template <class T>
  static BALEEN_INLINE T at(T x) {
    // Far out the derivative is 0 or 1 to the last bit, and its factors would overflow.
    constexpr T kFar = sizeof(T) == 4 ? T(12) : T(40);
    const T c = x > kFar ? kFar : x < -kFar ? -kFar : x;
    const T s = sigmoid_of(gelu_tanh_argument(c));
    const T slope = T(1.5957691216057307117597842397375) * (T(1) + T(0.134145) * (c * c));
    return s + c * s * sigmoid_of(-gelu_tanh_argument(c)) * slope;
  }
};
struct SiluGrad {
  template <class T>
  static BALEEN_INLINE T at(T x) {
    const T s = sigmoid_of(x);
    const T product = x * s * sigmoid_of(-x);
    return s + (product == product || x != x ? product : T(0));  // inf * 0 at the far ends
  }
};

template <class T, class F>
void unary(T* out, const T* a, const T*, const T*, Index n) {
#pragma GCC ivdep
  for (Index i = 0; i < n; ++i) out[i] = F::at(a[i]);
}
template <class T, class F>
void binary(T* out, const T* a, const T* b, const T*, Index n) {
#pragma GCC ivdep
  for (Index i = 0; i < n; ++i) out[i] = F::at(a[i], b[i]);
}
template <class T>
void select(T* out, const T* a, const T* b, const T* c, Index n) {
#pragma GCC ivdep
  for (Index i = 0; i < n; ++i) {
    const T yes = b[i], no = c[i];
    out[i] = a[i] != T(0) ? yes : no;
  }
}

template <bool kSine>
void sine(double* out, const double* a, const double*, const double*, Index n) {
  for (Index i = 0; i < n; ++i) out[i] = kSine ? __builtin_sin(a[i]) : __builtin_cos(a[i]);
}
// The reduction of the fast path holds below 2^20; the rare rest takes libm's.
template <bool kSine>
void sine(float* out, const float* a, const float*, const float*, Index n) {
  constexpr Index kBlock = 64;
  for (Index begin = 0; begin < n; begin += kBlock) {
    const Index count = n - begin < kBlock ? n - begin : kBlock;
    float kept[kBlock];
    for (Index i = 0; i < count; ++i) kept[i] = a[begin + i];
    for (Index i = 0; i < count; ++i) {
      const SineCosine both = sine_cosine(kept[i]);
      out[begin + i] = static_cast<float>(kSine ? both.sine : both.cosine);
    }
    for (Index i = 0; i < count; ++i)
      if (!(magnitude(kept[i]) < 1048576.0f))
        out[begin + i] = static_cast<float>(kSine ? __builtin_sin(kept[i]) : __builtin_cos(kept[i]));
  }
}

template <class T>
TileOp<T> find_unary(std::uint32_t opcode) {
  switch (opcode) {
    case BALEEN_X_NEG: return unary<T, Neg>;
    case BALEEN_X_ABS: return unary<T, Abs>;
    case BALEEN_X_SIGN: return unary<T, Sign>;
    case BALEEN_X_FLOOR: return unary<T, Floor>;
    case BALEEN_X_SQRT: return unary<T, Sqrt>;
    case BALEEN_X_RSQRT: return unary<T, Rsqrt>;
    case BALEEN_X_EXP: return unary<T, Exp>;
    case BALEEN_X_LOG: return unary<T, Log>;
    case BALEEN_X_SIN: return sine<true>;
    case BALEEN_X_COS: return sine<false>;
    case BALEEN_X_TANH: return unary<T, Tanh>;
    case BALEEN_X_ERF: return unary<T, Erf>;
    case BALEEN_X_SIGMOID: return unary<T, Sigmoid>;
    case BALEEN_X_RELU: return unary<T, Relu>;
    case BALEEN_X_GELU: return unary<T, Gelu>;
    case BALEEN_X_GELU_TANH: return unary<T, GeluTanh>;
    case BALEEN_X_SILU: return unary<T, Silu>;
    case BALEEN_X_IS_FINITE: return unary<T, IsFinite>;
    case BALEEN_X_GELU_GRAD: return unary<T, GeluGrad>;
    case BALEEN_X_GELU_TANH_GRAD: return unary<T, GeluTanhGrad>;
    case BALEEN_X_SILU_GRAD: return unary<T, SiluGrad>;
    default: return nullptr;
  }
}

template <class T>
TileOp<T> find(std::uint32_t opcode) {
  switch (opcode) {
    case BALEEN_X_ADD: return binary<T, Add>;
    case BALEEN_X_SUB: return binary<T, Sub>;
    case BALEEN_X_MUL: return binary<T, Mul>;
    case BALEEN_X_DIV: return binary<T, Div>;
    case BALEEN_X_MAX: return binary<T, Max>;
    case BALEEN_X_MIN: return binary<T, Min>;
    case BALEEN_X_POW: return binary<T, Pow>;
    case BALEEN_X_LT: return binary<T, Less>;
    case BALEEN_X_LE: return binary<T, LessEqual>;
    case BALEEN_X_EQ: return binary<T, Equal>;
    case BALEEN_X_NE: return binary<T, NotEqual>;
    case BALEEN_X_SELECT: return select<T>;
    default: return find_unary<T>(opcode);
  }
}

}  // namespace

void fill_tile_ops(Routines& routines) {
  routines.f32.tile_op = find<float>;
  routines.f64.tile_op = find<double>;
}

}  // namespace baleen::cpu::BALEEN_CPU_ISA

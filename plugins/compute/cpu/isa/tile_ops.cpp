/// \file The inner loop of every elementwise opcode. Compiled without contraction: a fused expression gives the bits of
/// an unfused one.
#include "baleen/base.h"
#include "baleen/expression.h"
#include "math.hpp"
#include "routines.hpp"
#include "tables.hpp"

namespace baleen::cpu::BALEEN_CPU_ISA {
namespace {

BALEEN_INLINE float root(float x) { return __builtin_sqrtf(x); }
BALEEN_INLINE double root(double x) { return __builtin_sqrt(x); }
BALEEN_INLINE float floor_of(float x) { return __builtin_floorf(x); }
BALEEN_INLINE double floor_of(double x) { return __builtin_floor(x); }
BALEEN_INLINE float absolute(float x) { return __builtin_fabsf(x); }
BALEEN_INLINE double absolute(double x) { return __builtin_fabs(x); }
template <class T>
constexpr T kLargest = sizeof(T) == 4 ? T(3.40282347e38f) : T(1.7976931348623157e308);

// One element at a time, left to the compiler to vectorise.
// By hand: clang-format would take the products for pointers.
// clang-format off
#define BALEEN_FUNCTION(name, arguments, value)           \
  struct name {                                           \
    template <class T>                                    \
    static BALEEN_INLINE T at arguments { return value; } \
  };

BALEEN_FUNCTION(Neg, (T x), -x)
BALEEN_FUNCTION(Abs, (T x), absolute(x))
BALEEN_FUNCTION(Sign, (T x), x > T(0) ? T(1) : x < T(0) ? T(-1) : x)
BALEEN_FUNCTION(Floor, (T x), floor_of(x))
BALEEN_FUNCTION(Sqrt, (T x), root(x))
BALEEN_FUNCTION(Rsqrt, (T x), T(1) / root(x))
BALEEN_FUNCTION(Relu, (T x), x < T(0) ? T(0) : x)
BALEEN_FUNCTION(IsFinite, (T x), absolute(x) <= kLargest<T> ? T(1) : T(0))
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

// A register of fp32 or one fp64 at a time.
BALEEN_FUNCTION(Exp, (T x), exp_of(x))
BALEEN_FUNCTION(Log, (T x), log_of(x))
BALEEN_FUNCTION(Tanh, (T x), tanh_of(x))
BALEEN_FUNCTION(Erf, (T x), erf_of(x))
BALEEN_FUNCTION(SigmoidOf, (T x), sigmoid_of(x))
BALEEN_FUNCTION(Silu, (T x), x / (1.0f + exp_of(-x)))
BALEEN_FUNCTION(Gelu, (T x), x * normal_below(x, normal_tail(magnitude(x))))
// clang-format on

struct GeluGrad {
  template <class X>
  static BALEEN_INLINE X at(X x) {
    const NormalTail<X> t = normal_tail(magnitude(x));
    return normal_below(x, t) + x * t.density;
  }
};

// tanh(u) = 2 sigmoid(2u) - 1, so x (1 + tanh u) / 2 = x sigmoid(2u): no cancellation for negative x.
template <class X>
BALEEN_INLINE X gelu_tanh_argument(X x) {
  return Element<X>(1.5957691216057307117597842397375) * (x + Element<X>(0.044715) * (x * x * x));
}
struct GeluTanh {
  template <class X>
  static BALEEN_INLINE X at(X x) {
    return x * sigmoid_and_slope(gelu_tanh_argument(x)).value;
  }
};
struct GeluTanhGrad {
  template <class X>
  static BALEEN_INLINE X at(X x) {
    // Far out the derivative is 0 or 1 to the last bit, and its factors would overflow.
    constexpr Element<X> kFar = sizeof(Element<X>) == 4 ? 12 : 40;
    const X high = X{} + kFar;
    const X c = x > kFar ? high : x < -kFar ? -high : x;
    const Sigmoid<X> s = sigmoid_and_slope(gelu_tanh_argument(c));
    const X inner = Element<X>(1.5957691216057307117597842397375) * (1.0f + Element<X>(0.134145) * (c * c));
    return s.value + c * s.slope * inner;
  }
};
struct SiluGrad {
  template <class X>
  static BALEEN_INLINE X at(X x) {
    const Sigmoid<X> s = sigmoid_and_slope(x);
    const X none = X{}, product = x * s.slope;
    return s.value + (magnitude(x) > 200.0f ? none : product);  // no inf * 0 at the far ends
  }
};

template <class T, class F>
void unary(T* out, const T* a, const T*, const T*, Index n) {
#pragma GCC ivdep
  for (Index i = 0; i < n; ++i) out[i] = F::at(a[i]);
}
template <class T, class F>
void mapped(T* out, const T* a, const T*, const T*, Index n) {
  map(out, a, n, [](auto x) { return F::at(x); });
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
      const SineCosine both = sine_cosine(static_cast<double>(kept[i]));
      out[begin + i] = static_cast<float>(kSine ? both.sine : both.cosine);
    }
    for (Index i = 0; i < count; ++i) {
      const double x = static_cast<double>(kept[i]);
      if (!(absolute(x) < 1048576.0)) out[begin + i] = static_cast<float>(kSine ? __builtin_sin(x) : __builtin_cos(x));
    }
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
    case BALEEN_X_EXP: return mapped<T, Exp>;
    case BALEEN_X_LOG: return mapped<T, Log>;
    case BALEEN_X_SIN: return sine<true>;
    case BALEEN_X_COS: return sine<false>;
    case BALEEN_X_TANH: return mapped<T, Tanh>;
    case BALEEN_X_ERF: return mapped<T, Erf>;
    case BALEEN_X_SIGMOID: return mapped<T, SigmoidOf>;
    case BALEEN_X_RELU: return unary<T, Relu>;
    case BALEEN_X_GELU: return mapped<T, Gelu>;
    case BALEEN_X_GELU_TANH: return mapped<T, GeluTanh>;
    case BALEEN_X_SILU: return mapped<T, Silu>;
    case BALEEN_X_IS_FINITE: return unary<T, IsFinite>;
    case BALEEN_X_GELU_GRAD: return mapped<T, GeluGrad>;
    case BALEEN_X_GELU_TANH_GRAD: return mapped<T, GeluTanhGrad>;
    case BALEEN_X_SILU_GRAD: return mapped<T, SiluGrad>;
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

/// \file Functions of generated kernels, as text for NVRTC.
#include "expression_prelude.hpp"

namespace baleen::cuda {

// Divisions and square roots are IEEE's and nothing is contracted (compile_source), so that what IEEE fixes has the
// same bits as elsewhere. Sine and cosine of fp32 go through fp64: within one unit in the last place.
const char kPointwisePrelude[] = R"(
using namespace baleen;
struct Args {
  void* operand[64];
  u64 seed, step, micro;
};
template <class T, int n>
struct alignas(sizeof(T) * n < 16 ? sizeof(T) * n : 16) Pack {
  T at[n];
};

static __device__ Real uniform(u64 element, u64 step, u64 key) {
  return (Real)(int)(philox(element, step, key).x0 >> 8) * (Real)0x1p-24;
}
static __device__ Real normal(u64 element, u64 step, u64 key) {
  const Words words = philox(element, step, key);
  const double u = ((double)(words.x0 >> 8) + 0.5) * 0x1p-24, v = (double)(words.x1 >> 8) * 0x1p-24;
  return (Real)(sqrt(-2.0 * log(u)) * cos(6.283185307179586476925 * v));
}

// The nearest whole number, kept within [least, most]; a NaN becomes the least.
static __device__ double whole(Real x, double least, double most) {
  const double nearest = rint((double)x);
  return nearest > least ? (nearest >= most ? most : nearest) : least;
}
template <class T>
static __device__ T to_whole(Real x, double least, double most, T smallest, T largest) {
  const double nearest = whole(x, least, most);
  return nearest <= least ? smallest : nearest >= most ? largest : (T)nearest;
}

static __device__ Real sigmoid(Real x) { return (Real)1 / ((Real)1 + F(exp)(-x)); }
static __device__ Real gelu(Real x) { return x * F(normcdf)(x); }
static __device__ Real gelu_grad(Real x) {
  return F(normcdf)(x) + x * ((Real)0.39894228040143267794 * F(exp)((Real)-0.5 * x * x));
}
// tanh(u) = 2 sigmoid(2u) - 1, so x (1 + tanh u) / 2 = x sigmoid(2u): no cancellation for negative x.
static __device__ Real gelu_tanh_argument(Real x) {
  return (Real)1.5957691216057307117597842397375 * (x + (Real)0.044715 * (x * x * x));
}
static __device__ Real gelu_tanh(Real x) { return x * sigmoid(gelu_tanh_argument(x)); }
static __device__ Real gelu_tanh_grad(Real x) {
  // Far out the derivative is 0 or 1 to the last bit, and its factors would overflow.
  const Real far = sizeof(Real) == 4 ? 12 : 40, c = x > far ? far : x < -far ? -far : x;
  const Real s = sigmoid(gelu_tanh_argument(c));
  const Real slope = (Real)1.5957691216057307117597842397375 * ((Real)1 + (Real)0.134145 * (c * c));
  return s + c * s * sigmoid(-gelu_tanh_argument(c)) * slope;
}
static __device__ Real silu_grad(Real x) {
  const Real s = sigmoid(x);
  return F(fabs)(x) > (Real)200 ? s : s + x * s * sigmoid(-x);  // no inf * 0 at the far ends
}
)";

}  // namespace baleen::cuda

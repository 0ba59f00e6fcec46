/// \file Layouts and random values.
#include "conformance/compute/tensor.hpp"

#include <cmath>
#include <cstring>

#include "baleen/half.hpp"

namespace baleen::conformance {
namespace {

// So that rounding the result to 16 bits is rounding x: where x lies between two floats, the one whose last bit is set.
float to_odd(double x) {
  const auto nearest = static_cast<float>(x);
  const auto back = static_cast<double>(nearest);
  if (std::isnan(x) || back == x || std::bit_cast<std::uint32_t>(nearest) % 2) return nearest;
  return std::nextafter(nearest, back < x ? INFINITY : -INFINITY);
}

template <class T>
void put_as(void* to, T value) {
  std::memcpy(to, &value, sizeof value);
}
template <class T>
T get_as(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

void put_element(void* to, baleen_dtype_t dtype, double value) {
  switch (dtype) {
    case BALEEN_F32: return put_as(to, static_cast<float>(value));
    case BALEEN_BF16: return put_as(to, to_bf16(to_odd(value)));
    case BALEEN_F16: return put_as(to, to_fp16(to_odd(value)));
    case BALEEN_I32: return put_as(to, static_cast<std::int32_t>(value));
    default: return put_as(to, value);
  }
}

double get_element(const void* from, baleen_dtype_t dtype) {
  switch (dtype) {
    case BALEEN_F32: return static_cast<double>(get_as<float>(from));
    case BALEEN_BF16: return static_cast<double>(from_bf16(get_as<std::uint16_t>(from)));
    case BALEEN_F16: return static_cast<double>(from_fp16(get_as<std::uint16_t>(from)));
    case BALEEN_I32: return get_as<std::int32_t>(from);
    default: return get_as<double>(from);
  }
}

double stored(double value, baleen_dtype_t dtype) {
  double bytes = 0;
  put_element(&bytes, dtype, value);
  return get_element(&bytes, dtype);
}

std::int64_t count(const Shape& shape) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

std::int64_t Tensor::at(const Shape& index) const {
  std::int64_t position = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) position = position * shape[d] + index[d];
  return position;
}

void each_index(const Shape& shape, const std::function<void(const Shape&)>& body) {
  Shape index(shape.size(), 0);
  for (std::int64_t left = count(shape); left > 0; --left) {
    body(index);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

Tensor zeros(Shape shape) {
  const auto n = static_cast<std::size_t>(count(shape));
  return {std::move(shape), std::vector<double>(n, 0.0)};
}

Tensor random_tensor(std::mt19937_64& random, Shape shape, double deviation, double mean) {
  Tensor out = zeros(std::move(shape));
  std::normal_distribution<double> draw(mean, deviation);
  for (double& x : out.values) x = static_cast<double>(static_cast<float>(draw(random)));
  return out;
}

Tensor random_ids(std::mt19937_64& random, Shape shape, int low, int high) {
  Tensor out = zeros(std::move(shape));
  out.integer = true;
  std::uniform_int_distribution<int> draw(low, high);
  for (double& x : out.values) x = draw(random);
  return out;
}

const char* name(Placement placement) {
  switch (placement) {
    case Placement::kPacked: return "packed";
    case Placement::kGaps: return "with gaps";
    default: return "reversed";
  }
}

Layout lay_out(const Tensor& tensor, Placement placement) {
  const std::size_t rank = tensor.shape.size();
  Layout out{Shape(rank, 0), 1};
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t d = placement == Placement::kReversed ? i : rank - 1 - i;
    if (!tensor.broadcast.empty() && tensor.broadcast[d]) continue;
    out.strides[d] = out.extent;
    out.extent *= tensor.shape[d];
    if (placement == Placement::kGaps) out.extent += 3;
  }
  return out;
}

}  // namespace baleen::conformance

/// \file Layouts and random values.
#include "conformance/compute/tensor.hpp"

#include <cstring>

#include "baleen/fp8.hpp"
#include "baleen/half.hpp"

namespace baleen::conformance {

namespace {

template <class T>
T read_as(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

void write_element(char* to, baleen_dtype_t dtype, double value) {
  const auto put = [&](auto x) { std::memcpy(to, &x, sizeof x); };
  switch (dtype) {
    case BALEEN_F32: return put(static_cast<float>(value));
    case BALEEN_F16: return put(to_fp16(static_cast<float>(value)));
    case BALEEN_BF16: return put(to_bf16(static_cast<float>(value)));
    case BALEEN_E4M3: return put(to_e4m3(static_cast<float>(value)));
    case BALEEN_E5M2: return put(to_e5m2(static_cast<float>(value)));
    case BALEEN_I32: return put(static_cast<std::int32_t>(value));
    case BALEEN_I64: return put(static_cast<std::int64_t>(value));
    default: return put(value);
  }
}

double read_element(const char* from, baleen_dtype_t dtype) {
  switch (dtype) {
    case BALEEN_F32: return static_cast<double>(read_as<float>(from));
    case BALEEN_F16: return static_cast<double>(from_fp16(read_as<std::uint16_t>(from)));
    case BALEEN_BF16: return static_cast<double>(from_bf16(read_as<std::uint16_t>(from)));
    case BALEEN_E4M3: return static_cast<double>(from_e4m3(read_as<std::uint8_t>(from)));
    case BALEEN_E5M2: return static_cast<double>(from_e5m2(read_as<std::uint8_t>(from)));
    case BALEEN_I32: return static_cast<double>(read_as<std::int32_t>(from));
    case BALEEN_I64: return static_cast<double>(read_as<std::int64_t>(from));
    default: return read_as<double>(from);
  }
}

double rounded(double value, baleen_dtype_t dtype) {
  char element[sizeof value];
  write_element(element, dtype, value);
  return read_element(element, dtype);
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
    case Placement::kShifted: return "shifted";
    case Placement::kLastShifted: return "with the last one shifted";
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

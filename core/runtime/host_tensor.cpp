/// \file Elements of host tensors to numbers and back.
#include "core/runtime/host_tensor.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "baleen/dtype.hpp"
#include "baleen/fp8.hpp"
#include "baleen/half.hpp"

namespace baleen {
namespace {

template <class T, class Widen>
void widen(const HostTensor& tensor, std::vector<double>& numbers, Widen value) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    T element;
    std::memcpy(&element, tensor.bytes.data() + i * sizeof(T), sizeof(T));
    numbers[i] = static_cast<double>(value(element));
  }
}

template <class T, class Narrow>
void narrow(const std::vector<double>& numbers, HostTensor& tensor, Narrow value) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const T element = value(numbers[i]);
    std::memcpy(tensor.bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
}

template <class T>
Status narrow_integers(const std::vector<double>& numbers, HostTensor& tensor) {
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  const double above = std::ldexp(1.0, std::numeric_limits<T>::digits);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (!(numbers[i] >= low && numbers[i] < above) || std::trunc(numbers[i]) != numbers[i])
      return invalid("element " + std::to_string(i) + " is " + std::to_string(numbers[i]) + ", which is no " +
                     std::string(dtype_name(tensor.dtype)));
  narrow<T>(numbers, tensor, [](double number) { return static_cast<T>(number); });
  return {};
}

}  // namespace

std::string type_text(baleen_dtype_t dtype, const Shape& shape) {
  return std::string(dtype_name(dtype)) + " " + to_string(shape);
}

std::vector<double> numbers_of(const HostTensor& tensor) {
  std::vector<double> numbers(tensor.bytes.size() / dtype_size(tensor.dtype));
  const auto same = [](auto element) { return element; };
  switch (tensor.dtype) {
    case BALEEN_F64: widen<double>(tensor, numbers, same); break;
    case BALEEN_F32: widen<float>(tensor, numbers, same); break;
    case BALEEN_BF16: widen<std::uint16_t>(tensor, numbers, from_bf16); break;
    case BALEEN_F16: widen<std::uint16_t>(tensor, numbers, from_fp16); break;
    case BALEEN_E4M3: widen<std::uint8_t>(tensor, numbers, from_e4m3); break;
    case BALEEN_E5M2: widen<std::uint8_t>(tensor, numbers, from_e5m2); break;
    case BALEEN_I32: widen<std::int32_t>(tensor, numbers, same); break;
    case BALEEN_I64: widen<std::int64_t>(tensor, numbers, same); break;
    default: widen<std::uint8_t>(tensor, numbers, same); break;
  }
  return numbers;
}

Result<HostTensor> tensor_of(const std::vector<double>& numbers, baleen_dtype_t dtype, Shape shape) {
  if (static_cast<std::int64_t>(numbers.size()) != element_count(shape))
    return invalid("there are " + std::to_string(numbers.size()) + " values for the shape " + to_string(shape));
  HostTensor tensor{dtype, std::move(shape), std::vector<std::byte>(numbers.size() * dtype_size(dtype))};
  const auto round_all = [&]<class Stored>(Stored (*to)(float)) {
    narrow<Stored>(numbers, tensor, [to](double number) { return to(static_cast<float>(number)); });
  };
  switch (dtype) {
    case BALEEN_F64: narrow<double>(numbers, tensor, [](double number) { return number; }); break;
    case BALEEN_F32: narrow<float>(numbers, tensor, [](double number) { return static_cast<float>(number); }); break;
    case BALEEN_BF16: round_all(to_bf16); break;
    case BALEEN_F16: round_all(to_fp16); break;
    case BALEEN_E4M3: round_all(to_e4m3); break;
    case BALEEN_E5M2: round_all(to_e5m2); break;
    case BALEEN_I32: BALEEN_TRY(narrow_integers<std::int32_t>(numbers, tensor)); break;
    case BALEEN_I64: BALEEN_TRY(narrow_integers<std::int64_t>(numbers, tensor)); break;
    default: BALEEN_TRY(narrow_integers<std::uint8_t>(numbers, tensor)); break;
  }
  return tensor;
}

Result<HostTensor> with_dtype(HostTensor tensor, baleen_dtype_t dtype) {
  if (tensor.dtype == dtype) return tensor;
  if (!is_floating(tensor.dtype) || !is_floating(dtype))
    return unsupported(std::string(dtype_name(tensor.dtype)) + " is not converted into " +
                       std::string(dtype_name(dtype)) + "; only floating dtypes are into each other");
  return tensor_of(numbers_of(tensor), dtype, std::move(tensor.shape));
}

}  // namespace baleen

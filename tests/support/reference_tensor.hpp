/// \file A tensor of doubles for tests: row-major, no strides, nothing clever.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <vector>

#include "compiler/layout/layout.hpp"

namespace baleen::test {

/// A place in a tensor, or in a loop over letters: a list that takes no memory of the heap, since there is one for each
/// element.
class Coordinate {
 public:
  static constexpr std::size_t kMost = 26;

  Coordinate() = default;
  explicit Coordinate(std::size_t size) : size_(size) {
    if (size > kMost) throw std::logic_error("a coordinate of too many dimensions");
    std::fill(begin(), end(), 0);
  }
  Coordinate(std::initializer_list<std::int64_t> all) : Coordinate(all.begin(), all.end()) {}
  Coordinate(const std::int64_t* first, const std::int64_t* last) : Coordinate(static_cast<std::size_t>(last - first)) {
    std::copy(first, last, begin());
  }
  Coordinate(const Coordinate& other) : size_(other.size_) { std::copy(other.begin(), other.end(), begin()); }
  Coordinate& operator=(const Coordinate& other) {
    size_ = other.size_;
    std::copy(other.begin(), other.end(), begin());
    return *this;
  }

  void push_back(std::int64_t value) {
    if (size_ == kMost) throw std::logic_error("a coordinate of too many dimensions");
    values_[size_++] = value;
  }
  std::size_t size() const { return size_; }
  std::int64_t& operator[](std::size_t d) { return values_[d]; }
  std::int64_t operator[](std::size_t d) const { return values_[d]; }
  std::int64_t at(std::size_t d) const {
    if (d >= size_) throw std::out_of_range("a coordinate of fewer dimensions");
    return values_[d];
  }
  std::int64_t* begin() { return values_; }
  std::int64_t* end() { return values_ + size_; }
  const std::int64_t* begin() const { return values_; }
  const std::int64_t* end() const { return values_ + size_; }

 private:
  std::size_t size_ = 0;
  std::int64_t values_[kMost];  ///< the first `size_` are set
};

/// Calls `visit` with every coordinate of `shape`, in row-major order.
inline void for_each(const Shape& shape, const std::function<void(const Coordinate&)>& visit) {
  const std::int64_t count = element_count(shape);
  Coordinate at(shape.size());
  for (std::int64_t n = 0; n < count; ++n) {
    visit(at);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
}

struct Tensor {
  Shape shape;
  std::vector<double> data;

  Tensor() = default;
  explicit Tensor(Shape s) : shape(std::move(s)), data(static_cast<std::size_t>(element_count(shape)), 0.0) {}
  Tensor(Shape s, std::vector<double> d) : shape(std::move(s)), data(std::move(d)) {
    if (static_cast<std::int64_t>(data.size()) != element_count(shape))
      throw std::logic_error("a tensor of wrong size");
  }

  double& at(const Coordinate& c) { return data[offset(c)]; }
  double at(const Coordinate& c) const { return data[offset(c)]; }
  double& operator[](std::size_t i) { return data[i]; }
  double operator[](std::size_t i) const { return data[i]; }
  std::size_t size() const { return data.size(); }

 private:
  std::size_t offset(const Coordinate& c) const {
    if (c.size() != shape.size()) throw std::logic_error("a coordinate of wrong rank");
    std::int64_t n = 0;
    for (std::size_t d = 0; d < c.size(); ++d) {
      if (c[d] < 0 || c[d] >= shape[d]) throw std::logic_error("a coordinate outside " + to_string(shape));
      n = n * shape[d] + c[d];
    }
    return static_cast<std::size_t>(n);
  }
};

}  // namespace baleen::test

/// \file A short list of numbers of ops or values. Most have one to four, which lie in the list itself.
#pragma once
#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace baleen {

/// Like a std::vector of 32-bit numbers, in as many bytes, but without memory of its own for up to kInside of them.
class Ids {
 public:
  using value_type = std::uint32_t;
  using iterator = std::uint32_t*;
  using const_iterator = const std::uint32_t*;

  static constexpr std::uint32_t kInside = 4;

  Ids() = default;
  Ids(std::initializer_list<std::uint32_t> ids) { assign(ids.begin(), ids.end()); }
  Ids(const std::vector<std::uint32_t>& ids) { assign(ids.data(), ids.data() + ids.size()); }
  Ids(const Ids& other) { assign(other.begin(), other.end()); }
  Ids(Ids&& other) noexcept { take(other); }
  Ids& operator=(const Ids& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  Ids& operator=(Ids&& other) noexcept {
    if (this == &other) return *this;
    drop();
    take(other);
    return *this;
  }
  ~Ids() { drop(); }

  operator std::vector<std::uint32_t>() const { return {begin(), end()}; }
  operator std::span<const std::uint32_t>() const { return {begin(), size()}; }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::uint32_t* data() { return room_ > kInside ? apart_ : inside_; }
  const std::uint32_t* data() const { return room_ > kInside ? apart_ : inside_; }
  iterator begin() { return data(); }
  iterator end() { return data() + size_; }
  const_iterator begin() const { return data(); }
  const_iterator end() const { return data() + size_; }
  auto rbegin() const { return std::reverse_iterator(end()); }
  auto rend() const { return std::reverse_iterator(begin()); }
  std::uint32_t& operator[](std::size_t i) { return data()[i]; }
  std::uint32_t operator[](std::size_t i) const { return data()[i]; }
  std::uint32_t at(std::size_t i) const {
    if (i >= size_) throw std::out_of_range("Ids: " + std::to_string(i) + " of " + std::to_string(size_));
    return data()[i];
  }
  std::uint32_t front() const { return data()[0]; }
  std::uint32_t back() const { return data()[size_ - 1]; }

  void push_back(std::uint32_t id) { insert(end(), id); }
  void insert(const_iterator before, std::uint32_t id) {
    const auto at = static_cast<std::size_t>(before - begin());
    if (size_ == room_) reserve(2 * room_);
    std::copy_backward(begin() + at, end(), end() + 1);
    data()[at] = id;
    ++size_;
  }
  void erase(const_iterator one) {
    std::copy(one + 1, const_iterator(end()), data() + (one - begin()));
    --size_;
  }
  void clear() { size_ = 0; }
  template <class It>
  void assign(It first, It last) {
    size_ = 0;
    reserve(static_cast<std::uint32_t>(std::distance(first, last)));
    size_ = static_cast<std::uint32_t>(std::distance(first, last));
    std::copy(first, last, data());
  }

  friend bool operator==(const Ids& a, const Ids& b) { return std::ranges::equal(a, b); }
  friend bool operator==(const Ids& a, const std::vector<std::uint32_t>& b) { return std::ranges::equal(a, b); }

 private:
  void reserve(std::uint32_t room) {
    if (room <= room_) return;
    auto* const wider = new std::uint32_t[room];
    std::copy(begin(), end(), wider);
    drop();
    apart_ = wider;
    room_ = room;
  }
  void take(Ids& other) {
    size_ = std::exchange(other.size_, 0);
    room_ = std::exchange(other.room_, kInside);
    if (room_ > kInside)
      apart_ = other.apart_;
    else
      std::copy(other.inside_, other.inside_ + size_, inside_);
  }
  void drop() {
    if (room_ > kInside) delete[] apart_;
  }

  std::uint32_t size_ = 0, room_ = kInside;
  union {
    std::uint32_t inside_[kInside];
    std::uint32_t* apart_;
  };
};
static_assert(sizeof(Ids) == 24);

}  // namespace baleen

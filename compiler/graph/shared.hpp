/// \file Values that copies share. Passes copy graphs, and change little of what an op or a value has.
#pragma once
#include <atomic>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace baleen {

/// A value that copies share until one of them is edited; that of the type's default takes no memory. What is shared
/// never changes, so copies may be on different threads.
template <class T>
class Shared {
 public:
  Shared() = default;
  Shared(T value) : kept_(new Kept{std::move(value)}) {}
  Shared(const Shared& other) : kept_(other.kept_) {
    if (kept_) kept_->copies.fetch_add(1, std::memory_order_relaxed);
  }
  Shared(Shared&& other) noexcept : kept_(std::exchange(other.kept_, nullptr)) {}
  Shared& operator=(Shared other) noexcept {
    std::swap(kept_, other.kept_);
    return *this;
  }
  ~Shared() {
    if (kept_ && kept_->copies.fetch_sub(1, std::memory_order_acq_rel) == 1) delete kept_;
  }

  const T& operator*() const {
    if (kept_) return kept_->value;
    static const T empty{};
    return empty;
  }
  const T* operator->() const { return &**this; }
  operator const T&() const { return **this; }
  /// Whether both are one copy.
  bool is_same(const Shared& other) const { return kept_ == other.kept_; }
  friend bool operator==(const Shared& a, const T& b) { return *a == b; }

  /// A value of its own from here on.
  T& edit() {
    if (!kept_ || kept_->copies.load(std::memory_order_acquire) > 1) *this = Shared(T(**this));
    return kept_->value;
  }

 private:
  struct Kept {
    T value;
    std::atomic<std::uint32_t> copies = 1;
  };

  Kept* kept_ = nullptr;  // in half the bytes of a std::shared_ptr
};

/// A text that copies share.
class Text {
 public:
  Text() = default;
  Text(std::string text) {
    if (!text.empty()) kept_ = std::move(text);
  }
  Text(const char* text) : Text(std::string(text)) {}

  const std::string& str() const { return *kept_; }
  operator const std::string&() const { return *kept_; }
  operator std::string_view() const { return *kept_; }
  bool empty() const { return kept_->empty(); }

  friend std::string operator+(const Text& a, const Text& b) { return a.str() + b.str(); }
  friend std::string operator+(const std::string& a, const Text& b) { return a + b.str(); }
  friend std::string operator+(const Text& a, const std::string& b) { return a.str() + b; }
  friend std::string operator+(const char* a, const Text& b) { return a + b.str(); }
  friend std::string operator+(const Text& a, const char* b) { return a.str() + b; }
  friend bool operator==(const Text& a, const Text& b) { return a.str() == b.str(); }
  friend bool operator==(const Text& a, const std::string& b) { return a.str() == b; }
  friend bool operator==(const Text& a, const char* b) { return a.str() == b; }
  friend std::ostream& operator<<(std::ostream& out, const Text& text) { return out << text.str(); }

 private:
  Shared<std::string> kept_;
};

}  // namespace baleen

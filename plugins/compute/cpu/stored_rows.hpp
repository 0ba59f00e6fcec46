/// \file Rows of operands as the type that computes: the tensor's own memory, or, where it is stored in 16 bits, a
/// thread's spare row.
#pragma once
#include "convert.hpp"
#include "kernel.hpp"

namespace baleen::cpu {

/// Whether elements must be converted before T computes with them.
inline bool converts(const Operand& x) { return storage_of(x.tensor.dtype) != Storage::kOwn; }

/// The address of an element by its offset in elements.
inline void* element(const baleen_launch_t& launch, const Operand& x, std::int64_t offset) {
  return x.at<char>(launch) + offset * static_cast<std::int64_t>(dtype_size(x.tensor.dtype));
}

/// Access to packed rows. T is double where all is fp64, else float. Borrows the context.
template <class T>
class StoredAccess {
 public:
  explicit StoredAccess(const Context& context) : routines_(&context.of<T>()) {}

  /// `count` elements of x from `offset`; `spare` is used where they must be converted.
  const T* read(const baleen_launch_t& launch, const Operand& x, std::int64_t offset, std::int64_t count,
                T* spare) const {
    const void* const from = element(launch, x, offset);
    if (!converts(x)) return static_cast<const T*>(from);
    routines_->widen(spare, from, storage_of(x.tensor.dtype), count);
    return spare;
  }
  /// Where `count` elements of y from `offset` are to be computed; `wrote` must follow.
  T* target(const baleen_launch_t& launch, const Operand& y, std::int64_t offset, T* spare) const {
    return converts(y) ? spare : static_cast<T*>(element(launch, y, offset));
  }
  void wrote(const baleen_launch_t& launch, const Operand& y, std::int64_t offset, std::int64_t count,
             const T* row) const {
    if (converts(y)) routines_->narrow(element(launch, y, offset), row, storage_of(y.tensor.dtype), count);
  }
  /// Copies a row into a result, rounding it where that is stored in 16 bits.
  void put(const baleen_launch_t& launch, const Operand& y, std::int64_t offset, std::int64_t count,
           const T* row) const {
    routines_->narrow(element(launch, y, offset), row, storage_of(y.tensor.dtype), count);
  }

  T one(const baleen_launch_t& launch, const Operand& x, std::int64_t offset) const {
    T value;
    return *read(launch, x, offset, 1, &value);
  }
  void put_one(const baleen_launch_t& launch, const Operand& y, std::int64_t offset, T value) const {
    put(launch, y, offset, 1, &value);
  }

 private:
  const RoutinesOf<T>* routines_;
};

/// Spare rows of every thread, which take no memory unless they are needed.
template <class T>
class SpareRows {
 public:
  SpareRows() = default;
  /// `rows` for each thread, of `width` elements.
  SpareRows(const Context& context, bool needed, std::int64_t rows, std::int64_t width)
      : row_(needed ? static_cast<std::int64_t>(padded(static_cast<std::uint64_t>(width) * sizeof(T)) / sizeof(T)) : 0),
        thread_(rows * row_),
        bytes_(static_cast<std::uint64_t>(thread_ * context.threads.count()) * sizeof(T)) {}

  std::uint64_t bytes() const { return bytes_; }
  T* row(void* scratch, int thread, std::int64_t i) const {
    return static_cast<T*>(scratch) + thread * thread_ + i * row_;
  }

 private:
  std::int64_t row_ = 0, thread_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace baleen::cpu

/// \file Sugar for authors and callers of compute plugins: attributes of ops, shapes of tensors, and the table of a C++
/// device.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "baleen/compute.h"
#include "baleen/dtype.hpp"
#include "baleen/plugin.hpp"

namespace baleen::sdk {

/// A tensor and an op of a region, by number.
inline const baleen_tensor_t& tensor_of(const baleen_region_t& region, std::uint64_t number) {
  return element(region.tensors, number);
}
inline const baleen_op_view_t& op_of(const baleen_region_t& region, std::uint64_t number) {
  return element(region.ops, number);
}

/// Elements of a tensor; 1 for rank 0.
inline std::int64_t elements(const baleen_tensor_t& tensor) {
  std::int64_t count = 1;
  for (std::uint32_t i = 0; i < tensor.rank; ++i) count *= tensor.shape[i];
  return count;
}

/// Whether the elements lie in row-major order without gaps. Strides of dimensions of extent 1 do not matter.
inline bool contiguous(const baleen_tensor_t& tensor) {
  std::int64_t expected = 1;
  for (std::uint32_t i = tensor.rank; i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.stride[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

inline std::span<const std::int64_t> shape(const baleen_tensor_t& tensor) { return {tensor.shape, tensor.rank}; }
inline std::span<const std::int64_t> strides(const baleen_tensor_t& tensor) { return {tensor.stride, tensor.rank}; }

/// "[8, 256, 384]", for messages.
inline std::string shape_text(const baleen_tensor_t& tensor) {
  std::string text = "[";
  for (std::uint32_t i = 0; i < tensor.rank; ++i) text += (i ? ", " : "") + std::to_string(tensor.shape[i]);
  return text + "]";
}

/// Whether an output with the layout of `output` may take the bytes of `input` (see baleen_alias_t).
inline bool same_layout(const baleen_tensor_t& output, const baleen_tensor_t& input) {
  if (output.dtype != input.dtype || output.rank != input.rank) return false;
  for (std::uint32_t i = 0; i < output.rank; ++i)
    if (output.shape[i] != input.shape[i] || output.stride[i] != input.stride[i]) return false;
  return true;
}

/// A kernel as `compile` returns it: until `release` gives it back, its owner is who compiled it. `Kernel` has members
/// `scratch_bytes`, `aliases` (a vector) and `flops`.
template <class Kernel>
baleen_kernel_t give_kernel(std::unique_ptr<Kernel> kernel) {
  baleen_kernel_t out{};
  out.size = sizeof out;
  out.scratch_bytes = kernel->scratch_bytes;
  out.aliases = kernel->aliases.data();
  out.alias_count = kernel->aliases.size();
  out.flops = kernel->flops;
  out.kernel = kernel.release();
  return out;
}

/// A borrowed op with its attributes by name. A missing or wrongly typed attribute without a fallback throws
/// std::exception, which `guard` turns into a failure with text.
class Op {
 public:
  explicit Op(const baleen_op_view_t& view) : view_(&view) {}

  std::string_view kind() const { return baleen::view(view_->kind); }
  std::string_view name() const { return baleen::view(view_->name); }
  std::span<const std::uint32_t> inputs() const { return {view_->inputs, view_->input_count}; }
  std::span<const std::uint32_t> outputs() const { return {view_->outputs, view_->output_count}; }

  std::span<const baleen_attribute_t> attributes() const { return {view_->attributes, view_->attribute_count}; }
  /// Null where the op has none of the name.
  const baleen_attribute_t* attribute(std::string_view name) const { return find(name); }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::span<const std::int64_t> integers(std::string_view name) const {
    return all<std::int64_t>(name, BALEEN_ATTRIBUTE_INTS);
  }
  std::span<const double> numbers(std::string_view name) const { return all<double>(name, BALEEN_ATTRIBUTE_FLOATS); }
  std::span<const baleen_instruction_t> expression(std::string_view name) const {
    return all<baleen_instruction_t>(name, BALEEN_ATTRIBUTE_EXPRESSION);
  }
  std::string_view text(std::string_view name) const {
    const auto letters = all<char>(name, BALEEN_ATTRIBUTE_STRING);
    return {letters.data(), letters.size()};
  }
  std::int64_t integer(std::string_view name) const { return one(name, integers(name)); }
  std::int64_t integer(std::string_view name, std::int64_t fallback) const {
    return has(name) ? integer(name) : fallback;
  }
  double number(std::string_view name) const { return one(name, numbers(name)); }
  double number(std::string_view name, double fallback) const { return has(name) ? number(name) : fallback; }

 private:
  struct Wrong : std::exception {
    Wrong(const Op& op, std::string_view name)
        : text("op `" + std::string(op.kind()) + "` (" + std::string(op.name()) + ") has no attribute `" +
               std::string(name) + "` of the expected type") {}
    const char* what() const noexcept override { return text.c_str(); }
    std::string text;
  };

  const baleen_attribute_t* find(std::string_view name) const {
    for (std::uint64_t i = 0; i < view_->attribute_count; ++i)
      if (baleen::view(view_->attributes[i].name) == name) return &view_->attributes[i];
    return nullptr;
  }
  template <class T>
  std::span<const T> all(std::string_view name, baleen_attribute_type_t type) const {
    const baleen_attribute_t* found = find(name);
    if (!found || found->type != type) throw Wrong(*this, name);
    return {static_cast<const T*>(found->data), found->count};
  }
  template <class T>
  T one(std::string_view name, std::span<const T> all) const {
    if (all.size() != 1) throw Wrong(*this, name);
    return all[0];
  }

  const baleen_op_view_t* view_;
};

}  // namespace baleen::sdk

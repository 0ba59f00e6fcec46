/// \file One compiled op of a compute plugin with memory of its own, to be run again and again.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "conformance/compute/harness.hpp"

namespace baleen::bench {

using conformance::Device;
using conformance::OpSpec;
using conformance::Plugin;
using conformance::Shape;

/// A tensor of the bench's dtype, of one of its own or, where it holds ids, int32.
struct Operand {
  Shape shape;
  bool ids = false;
  Shape strides = {};        ///< packed where empty
  baleen_dtype_t dtype = 0;  ///< 0: the bench's
};

/// Ends the program with the plugin's message where something fails.
class Bench {
 public:
  Bench(Device& device, const OpSpec& op, const std::vector<Operand>& inputs, const std::vector<Operand>& outputs,
        baleen_dtype_t dtype = BALEEN_F32);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void run() { run(1); }
  /// So many launches, then waiting for all of them.
  void run(int times);
  double flops() const { return kernel_.flops; }
  /// Of all operands.
  double bytes() const { return static_cast<double>(bytes_); }

 private:
  void require(baleen_status_t status) const;
  void add(const Operand& x, baleen_dtype_t dtype);
  void fill(std::size_t i);
  void share(std::size_t inputs);
  std::uint64_t arena_bytes() const { return bytes_ + kernel_.scratch_bytes + 64; }

  Device& device_;
  std::vector<baleen_attribute_t> attributes_;
  std::vector<baleen_tensor_t> tensors_;
  std::vector<std::uint32_t> numbers_;
  std::vector<std::uint64_t> offsets_;
  std::vector<std::size_t> sizes_;
  std::vector<void*> addresses_;
  std::uint64_t bytes_ = 0;
  baleen_kernel_t kernel_{};
  void* base_ = nullptr;
};

}  // namespace baleen::bench

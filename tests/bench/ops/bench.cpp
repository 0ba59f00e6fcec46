/// \file Compiling an op alone, and laying its operands out.
#include "bench.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace baleen::bench {

Bench::Bench(Device& device, const OpSpec& op, const std::vector<Operand>& inputs, const std::vector<Operand>& outputs,
             baleen_dtype_t dtype)
    : device_(device), attributes_(op.view()) {
  for (const Operand& x : inputs) add(x, dtype);
  for (const Operand& y : outputs) add(y, dtype);
  baleen_op_view_t view{sizeof view,     abi(op.kind()),     abi("bench"),
                        numbers_.data(), inputs.size(),      numbers_.data() + inputs.size(),
                        outputs.size(),  attributes_.data(), attributes_.size()};
  const baleen_region_t region{sizeof region, &view, 1, tensors_.data(), tensors_.size(), nullptr};
  kernel_.size = sizeof kernel_;
  require(device.table().compile(device.get(), &region, &kernel_));
  require(device.table().arena_create(device.get(), BALEEN_ARENA_PRIVATE, arena_bytes(), &base_));
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    addresses_.push_back(static_cast<char*>(base_) + offsets_[i]);
    if (i < inputs.size() && !inputs[i].ids) fill(i);
  }
  if (op.kind() == "pointwise") share(inputs.size());
}

Bench::~Bench() {
  device_.table().release(device_.get(), kernel_.kernel);
  device_.table().arena_destroy(device_.get(), BALEEN_ARENA_PRIVATE, base_, arena_bytes());
}

void Bench::run(int times) {
  const baleen_launch_t launch{
      sizeof launch, device_.stream(), addresses_.data(), static_cast<char*>(base_) + bytes_, 1, 1, 0};
  for (int i = 0; i < times; ++i) require(device_.table().launch(device_.get(), kernel_.kernel, &launch));
  require(device_.table().synchronize(device_.get(), device_.stream()));
}

void Bench::require(baleen_status_t status) const {
  if (status == BALEEN_OK) return;
  std::fprintf(stderr, "%s\n", device_.plugin().last_failure().c_str());
  std::exit(1);
}

void Bench::add(const Operand& x, baleen_dtype_t dtype) {
  baleen_tensor_t t{};
  t.size = sizeof t;
  t.dtype = x.ids ? baleen_dtype_t{BALEEN_I32} : x.dtype ? x.dtype : dtype;
  t.rank = static_cast<std::uint32_t>(x.shape.size());
  t.micro_dim = -1;
  std::int64_t stride = 1, extent = 1;
  for (std::size_t d = x.shape.size(); d-- > 0; stride *= x.shape[d]) {
    t.shape[d] = t.global_shape[d] = x.shape[d];
    t.stride[d] = x.strides.empty() ? stride : x.strides[d];
    extent += (x.shape[d] - 1) * t.stride[d];
  }
  numbers_.push_back(static_cast<std::uint32_t>(tensors_.size()));
  tensors_.push_back(t);
  offsets_.push_back(bytes_);
  sizes_.push_back(static_cast<std::size_t>(extent));
  bytes_ += (static_cast<std::uint64_t>(extent) * dtype_size(t.dtype) + 63) / 64 * 64;
}

void Bench::fill(std::size_t i) {
  const baleen_dtype_t dtype = tensors_[i].dtype;
  const std::size_t size = dtype_size(dtype), period = std::min<std::size_t>(sizes_[i], 1000);
  // The numbers repeat; a device's memory is not the host's.
  std::vector<char> image(sizes_[i] * size);
  for (std::size_t k = 0; k < period; ++k)
    conformance::write_element(&image[k * size], dtype, static_cast<double>(k * 2654435761u % 1000) * 0.002 - 0.999);
  for (std::size_t k = period; k < sizes_[i]; k += period)
    std::memcpy(&image[k * size], image.data(), std::min(period, sizes_[i] - k) * size);
  require(device_.table().copy(device_.get(), device_.stream(), addresses_[i], image.data(), image.size()));
  require(device_.table().synchronize(device_.get(), device_.stream()));
}

// Outputs in the place of inputs, as a plan would have it of an update.
void Bench::share(std::size_t inputs) {
  std::vector<bool> taken(tensors_.size());
  for (std::uint64_t i = 0; i < kernel_.alias_count; ++i) {
    const auto [output, input] = kernel_.aliases[i];
    if (taken[output] || taken[input] || input >= inputs) continue;
    taken[output] = taken[input] = true;
    addresses_[output] = addresses_[input];
  }
}

}  // namespace baleen::bench

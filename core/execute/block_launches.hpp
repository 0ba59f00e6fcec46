/// \file Launches that tell which block of their tensors they work on.
#pragma once
#include <cstdint>
#include <optional>

#include "baleen/blockwise.h"
#include "core/execute/device.hpp"

namespace baleen {

/// What a device says of such launches. The device outlives it.
class BlockLaunches {
 public:
  /// The tensor's elements lie one behind the other, `elements` of them, and are worked on in blocks of `each`.
  struct Blocks {
    std::uint64_t each = 0, elements = 0;
  };

  /// Nothing where the device has none.
  static std::optional<BlockLaunches> of(const Device& device) {
    const auto table = device.extension<baleen_blockwise_t>(BALEEN_BLOCKWISE);
    return table ? std::optional(BlockLaunches(*table, device)) : std::nullopt;
  }

  /// Of a region's tensor in a kernel of this device; nothing where the kernel goes over it in another way.
  std::optional<Blocks> of(void* kernel, std::uint32_t tensor) const {
    Blocks blocks;
    blocks.each = table_.block(device_->handle(), kernel, tensor, &blocks.elements);
    return blocks.each > 0 ? std::optional(blocks) : std::nullopt;
  }
  Status launch(void* kernel, const baleen_launch_t& launch, const baleen_block_watch_t& watch) const {
    return device_->check(table_.launch(device_->handle(), kernel, &launch, &watch));
  }

 private:
  BlockLaunches(const baleen_blockwise_t& table, const Device& device) : table_(table), device_(&device) {}
  baleen_blockwise_t table_;
  const Device* device_;
};

}  // namespace baleen

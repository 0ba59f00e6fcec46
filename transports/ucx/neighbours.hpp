/// \file Which ranks run on this host, and whether they may read each other's memory.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "baleen/transport.hpp"

namespace baleen::ucx {

/// Made by all ranks together, in `create`.
class Neighbours {
 public:
  /// Asks the others; `probe`: also reads a word of each that is on this host, as UCX's cma would. What the others read
  /// here lies in this object, which must live until all are connected. `knows_cuda`: this rank's UCX.
  static std::unique_ptr<Neighbours> meet(const Rendezvous& rendezvous, bool probe, bool knows_cuda);

  /// Ranks on this host, this one among them.
  std::size_t here() const { return 1 + static_cast<std::size_t>(std::count(near_.begin(), near_.end(), true)); }
  /// The others of them, by rank.
  const std::vector<bool>& near() const { return near_; }
  /// How many ranks have a UCX that knows the memory of CUDA devices, and the first that has not (-1: all have).
  std::int32_t with_cuda() const { return with_cuda_; }
  std::int32_t first_without_cuda() const { return first_without_cuda_; }
  /// Why a neighbour's memory cannot be read; empty where it can, or was not tried.
  const std::string& refusal() const { return refusal_; }

 private:
  std::uint64_t word_ = 0;
  std::vector<bool> near_;
  std::int32_t with_cuda_ = 0, first_without_cuda_ = -1;
  std::string refusal_;
};

}  // namespace baleen::ucx

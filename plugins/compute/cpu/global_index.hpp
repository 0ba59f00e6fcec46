/// \file Where a local element stands in the global tensor.
#pragma once
#include <array>
#include <vector>

#include "kernel.hpp"

namespace baleen::cpu {

/// The runs of global indices that a tensor's dimensions hold, kept beyond the region's life.
class GlobalIndex {
 public:
  GlobalIndex() = default;
  explicit GlobalIndex(const baleen_tensor_t& tensor);

  /// Calls body(at, count, coordinates, element) for stretches of the local row-major range [begin, end): `at` counts
  /// from 0, coordinates[d] are global, of the stretch's first element; along the last dimension the following elements
  /// are its successors.
  template <class Body>
  void each(std::int64_t begin, std::int64_t end, std::uint64_t micro, const Body& body) const {
    std::array<std::int64_t, BALEEN_MAX_RANK> coordinates{};
    for (std::int64_t position = begin; position < end;) {
      const std::int64_t count = stretch(position, end - position, micro, coordinates);
      std::uint64_t element = 0;
      for (std::size_t d = 0; d < shape_.size(); ++d)
        element = element * static_cast<std::uint64_t>(global_shape_[d]) + static_cast<std::uint64_t>(coordinates[d]);
      body(position - begin, count, coordinates, element);
      position += count;
    }
  }

 private:
  std::int64_t stretch(std::int64_t position, std::int64_t most, std::uint64_t micro,
                       std::array<std::int64_t, BALEEN_MAX_RANK>& coordinates) const;

  std::vector<std::int64_t> shape_, global_shape_;
  std::vector<std::vector<baleen_run_t>> runs_;
  std::int32_t micro_dim_ = -1;
  std::int64_t micro_step_ = 0;
};

}  // namespace baleen::cpu

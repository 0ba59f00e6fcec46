/// \file Describing a computation to cuDNN, op by op, and the plan that it makes of it.
#pragma once
#include <array>
#include <deque>
#include <optional>
#include <span>

#include "dnn.hpp"
#include "driver.hpp"

namespace baleen::cuda {

/// A tensor's number in its graph.
using DnnTensor = std::int64_t;
using DnnExtents = std::array<std::int64_t, 4>;

/// Row-major strides.
DnnExtents packed(const DnnExtents& extents);

/// What can be computed at once. The first failure stays, and plan() tells it.
class DnnGraph {
 public:
  explicit DnnGraph(Dnn& dnn) : dnn_(dnn) {}

  /// In device memory.
  DnnTensor stored(const DnnExtents& extents, const DnnExtents& strides, cudnnDataType_t type) {
    return tensor(extents, strides, type, false, false);
  }
  /// One fp32 number of the host's.
  DnnTensor number() { return tensor({1, 1, 1, 1}, {1, 1, 1, 1}, CUDNN_DATA_FLOAT, false, true); }
  /// Between ops, never in memory.
  DnnTensor inner(const DnnExtents& extents, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return tensor(extents, packed(extents), type, true, false);
  }
  DnnTensor inner(const DnnExtents& extents, const DnnExtents& strides, cudnnDataType_t type) {
    return tensor(extents, strides, type, true, false);
  }

  /// y = mode(x), mode(x, b), or of x and b what t selects.
  void pointwise(cudnnPointwiseMode_t mode, DnnTensor x, std::optional<DnnTensor> b, std::optional<DnnTensor> t,
                 DnnTensor y, cudnnDataType_t computed_in = CUDNN_DATA_FLOAT);
  /// The coordinate of each element along `axis`.
  void index(std::int64_t axis, DnnTensor x, DnnTensor y);
  void matmul(DnnTensor a, DnnTensor b, DnnTensor c);
  void reduce(cudnnReduceTensorOp_t how, DnnTensor x, DnnTensor y);
  void reshape(DnnTensor x, DnnTensor y);

  /// The first of the library's suggestions that takes `most` bytes of workspace or less; NO_MEMORY where all take
  /// more, UNSUPPORTED where there is none. `deterministic` leaves out engines that may give other bits the next time.
  Result<std::shared_ptr<DnnPlan>> plan(bool deterministic, std::uint64_t most);

 private:
  DnnTensor tensor(const DnnExtents& extents, const DnnExtents& strides, cudnnDataType_t type, bool is_virtual,
                   bool by_value);
  /// A new descriptor that is filled by `fill` and finalized; null after a failure.
  template <class Fill>
  DnnDescriptor* add(std::deque<DnnDescriptor>& to, cudnnBackendDescriptorType_t type, const char* doing,
                     const Fill& fill);
  template <class Fill>
  void pointwise_op(DnnDescriptor* mode, DnnTensor x, DnnTensor y, const Fill& others);
  const DnnDescriptor& of(DnnTensor tensor) const { return tensors_[static_cast<std::size_t>(tensor)]; }
  Result<DnnDescriptor> whole() const;
  Result<std::vector<DnnDescriptor>> configurations(const DnnDescriptor& graph, cudnnBackendHeurMode_t mode) const;
  /// Null where it is left out.
  Result<std::shared_ptr<DnnPlan>> plan_by(DnnDescriptor configuration, bool deterministic) const;

  Dnn& dnn_;
  Status failed_;
  std::deque<DnnDescriptor> tensors_, modes_, ops_;
};

/// A compiled graph.
class DnnPlan {
 public:
  std::uint64_t workspace_bytes() const { return workspace_bytes_; }

 private:
  friend class DnnGraph;
  friend class DnnRun;
  DnnPlan(const Dnn& dnn, DnnDescriptor configuration, DnnDescriptor plan, std::uint64_t workspace_bytes)
      : dnn_(dnn),
        configuration_(std::move(configuration)),
        plan_(std::move(plan)),
        workspace_bytes_(workspace_bytes) {}

  const Dnn& dnn_;
  DnnDescriptor configuration_, plan_;
  std::uint64_t workspace_bytes_;
};

/// A plan with the addresses of one user of it. Calls come from one thread at a time.
class DnnRun {
 public:
  DnnRun(std::shared_ptr<const DnnPlan> plan, std::vector<DnnTensor> tensors)
      : plan_(std::move(plan)), tensors_(std::move(tensors)) {}
  std::uint64_t workspace_bytes() const { return plan_->workspace_bytes(); }
  /// Enqueues. `addresses` are of the tensors, in order. Allocates only where they differ from the last ones.
  Status operator()(CUstream stream, std::span<void* const> addresses, void* workspace);

 private:
  std::shared_ptr<const DnnPlan> plan_;
  std::vector<DnnTensor> tensors_;
  DnnDescriptor bound_;
  std::vector<void*> addresses_;  ///< of bound_
  void* workspace_ = nullptr;
};

}  // namespace baleen::cuda

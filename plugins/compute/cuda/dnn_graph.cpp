/// \file Descriptors of tensors and ops, and the choice among the library's engines.
#include "dnn_graph.hpp"

#include <algorithm>

namespace baleen::cuda {

DnnExtents packed(const DnnExtents& extents) {
  DnnExtents strides{};
  std::int64_t stride = 1;
  for (std::size_t i = extents.size(); i-- > 0; stride *= extents[i]) strides[i] = stride;
  return strides;
}

template <class Fill>
DnnDescriptor* DnnGraph::add(std::deque<DnnDescriptor>& to, cudnnBackendDescriptorType_t type, const char* doing,
                             const Fill& fill) {
  if (!failed_) return nullptr;
  auto made = DnnDescriptor::make(dnn_.functions(), type);
  if (!made) {
    failed_ = std::move(made).error();
    return nullptr;
  }
  failed_ = fill(*made);
  if (failed_) failed_ = made->finalize(doing);
  to.push_back(*std::move(made));
  return failed_ ? &to.back() : nullptr;
}

DnnTensor DnnGraph::tensor(const DnnExtents& extents, const DnnExtents& strides, cudnnDataType_t type, bool is_virtual,
                           bool by_value) {
  const auto number = static_cast<DnnTensor>(tensors_.size());
  constexpr std::int64_t kAlignment = 16;
  add(tensors_, CUDNN_BACKEND_TENSOR_DESCRIPTOR, "describing a tensor", [&](DnnDescriptor& d) -> Status {
    BALEEN_TRY(d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &number));
    BALEEN_TRY(d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type));
    BALEEN_TRY(d.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, extents.data()));
    BALEEN_TRY(d.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides.data()));
    BALEEN_TRY(d.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &kAlignment));
    BALEEN_TRY(d.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual));
    return d.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value);
  });
  return number;
}

template <class Fill>
void DnnGraph::pointwise_op(DnnDescriptor* mode, DnnTensor x, DnnTensor y, const Fill& others) {
  if (!mode) return;
  add(ops_, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "describing a pointwise op", [&](DnnDescriptor& d) -> Status {
    BALEEN_TRY(d.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, *mode));
    BALEEN_TRY(d.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, of(x)));
    BALEEN_TRY(d.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, of(y)));
    return others(d);
  });
}

void DnnGraph::pointwise(cudnnPointwiseMode_t mode, DnnTensor x, std::optional<DnnTensor> b, std::optional<DnnTensor> t,
                         DnnTensor y, cudnnDataType_t computed_in) {
  auto* how =
      add(modes_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, "describing a pointwise mode", [&](DnnDescriptor& d) -> Status {
        BALEEN_TRY(d.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode));
        return d.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &computed_in);
      });
  pointwise_op(how, x, y, [&](DnnDescriptor& d) -> Status {
    if (b) BALEEN_TRY(d.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, of(*b)));
    return t ? d.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, of(*t)) : Status();
  });
}

void DnnGraph::index(std::int64_t axis, DnnTensor x, DnnTensor y) {
  auto* how = add(modes_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, "describing an index", [&](DnnDescriptor& d) -> Status {
    const cudnnPointwiseMode_t mode = CUDNN_POINTWISE_GEN_INDEX;
    const cudnnDataType_t whole_numbers = CUDNN_DATA_INT32;
    BALEEN_TRY(d.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode));
    BALEEN_TRY(d.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &whole_numbers));
    return d.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis);
  });
  pointwise_op(how, x, y, [](DnnDescriptor&) { return Status(); });
}

void DnnGraph::matmul(DnnTensor a, DnnTensor b, DnnTensor c) {
  auto* how = add(modes_, CUDNN_BACKEND_MATMUL_DESCRIPTOR, "describing how to multiply", [](DnnDescriptor& d) {
    const cudnnDataType_t computed_in = CUDNN_DATA_FLOAT;
    return d.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &computed_in);
  });
  if (!how) return;
  add(ops_, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, "describing a product", [&](DnnDescriptor& d) -> Status {
    BALEEN_TRY(d.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, *how));
    BALEEN_TRY(d.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, of(a)));
    BALEEN_TRY(d.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, of(b)));
    return d.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, of(c));
  });
}

void DnnGraph::reduce(cudnnReduceTensorOp_t op, DnnTensor x, DnnTensor y) {
  auto* how =
      add(modes_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR, "describing how to reduce", [&](DnnDescriptor& d) -> Status {
        const cudnnDataType_t computed_in = CUDNN_DATA_FLOAT;
        BALEEN_TRY(d.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &computed_in));
        return d.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &op);
      });
  if (!how) return;
  add(ops_, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, "describing a reduction", [&](DnnDescriptor& d) -> Status {
    BALEEN_TRY(d.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, *how));
    BALEEN_TRY(d.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, of(x)));
    return d.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, of(y));
  });
}

void DnnGraph::reshape(DnnTensor x, DnnTensor y) {
  add(ops_, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, "describing a reshape", [&](DnnDescriptor& d) -> Status {
    BALEEN_TRY(d.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, of(x)));
    return d.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, of(y));
  });
}

Result<DnnDescriptor> DnnGraph::whole() const {
  BALEEN_TRY_ASSIGN(DnnDescriptor graph,
                    DnnDescriptor::make(dnn_.functions(), CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  std::vector<cudnnBackendDescriptor_t> ops;
  for (const DnnDescriptor& op : ops_) ops.push_back(op.handle());
  if (cudnnHandle_t handle = dnn_.handle())
    BALEEN_TRY(graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle));
  BALEEN_TRY(graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                       static_cast<std::int64_t>(ops.size()), ops.data()));
  BALEEN_TRY(graph.finalize("putting the ops together"));
  return graph;
}

Result<std::vector<DnnDescriptor>> DnnGraph::configurations(const DnnDescriptor& graph,
                                                            cudnnBackendHeurMode_t mode) const {
  const DnnFunctions& f = dnn_.functions();
  constexpr std::int64_t kMost = 16;
  BALEEN_TRY_ASSIGN(DnnDescriptor heuristics, DnnDescriptor::make(f, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
  BALEEN_TRY(heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph));
  BALEEN_TRY(heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode));
  if (dnn_.description()) BALEEN_TRY(heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *dnn_.description()));
  BALEEN_TRY(heuristics.finalize("asking for engines"));
  std::vector<DnnDescriptor> found;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (std::int64_t i = 0; i < kMost; ++i) {
    BALEEN_TRY_ASSIGN(DnnDescriptor one, DnnDescriptor::make(f, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    handles.push_back(one.handle());
    found.push_back(std::move(one));
  }
  std::int64_t count = 0;
  BALEEN_TRY(f.check(f.cudnnBackendGetAttribute(heuristics.handle(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                                CUDNN_TYPE_BACKEND_DESCRIPTOR, kMost, &count, handles.data()),
                     "asking for engines"));
  found.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, kMost)));
  return found;
}

namespace {

/// Whether the engine says of itself that its results may differ from run to run.
Result<bool> may_vary(const DnnFunctions& f, const DnnDescriptor& configuration) {
  BALEEN_TRY_ASSIGN(const DnnDescriptor engine, DnnDescriptor::make(f, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
  cudnnBackendDescriptor_t handle = engine.handle();
  std::int64_t count = 0;
  BALEEN_TRY(f.check(f.cudnnBackendGetAttribute(configuration.handle(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                                CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &handle),
                     "asking for an engine"));
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  BALEEN_TRY(f.check(f.cudnnBackendGetAttribute(handle, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                                CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes),
                     "asking for an engine's notes"));
  return std::find(notes, notes + count, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) != notes + count;
}

Result<DnnDescriptor> finalized(const Dnn& dnn, const DnnDescriptor& configuration) {
  BALEEN_TRY_ASSIGN(DnnDescriptor plan, DnnDescriptor::make(dnn.functions(), CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
  BALEEN_TRY(plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration));
  if (cudnnHandle_t handle = dnn.handle())
    BALEEN_TRY(plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle));
  if (dnn.description()) BALEEN_TRY(plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *dnn.description()));
  BALEEN_TRY(plan.finalize("making a plan"));
  return plan;
}

}  // namespace

Result<std::shared_ptr<DnnPlan>> DnnGraph::plan_by(DnnDescriptor configuration, bool deterministic) const {
  const DnnFunctions& f = dnn_.functions();
  if (deterministic) {
    BALEEN_TRY_ASSIGN(const bool varies, may_vary(f, configuration));
    if (varies) return std::shared_ptr<DnnPlan>();
  }
  BALEEN_TRY_ASSIGN(DnnDescriptor plan, finalized(dnn_, configuration));
  std::int64_t bytes = 0, count = 0;
  BALEEN_TRY(f.check(f.cudnnBackendGetAttribute(plan.handle(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                                CUDNN_TYPE_INT64, 1, &count, &bytes),
                     "asking for a plan's workspace"));
  return std::shared_ptr<DnnPlan>(
      new DnnPlan(dnn_, std::move(configuration), std::move(plan), static_cast<std::uint64_t>(bytes)));
}

Result<std::shared_ptr<DnnPlan>> DnnGraph::plan(bool deterministic, std::uint64_t most) {
  BALEEN_TRY(failed_);
  BALEEN_TRY_ASSIGN(const DnnDescriptor graph, whole());
  std::string why = "cuDNN has no engine for the graph";
  std::optional<std::uint64_t> least;  // of the plans that take too much
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    auto found = configurations(graph, mode);
    if (!found) why = std::move(found).error().message;
    if (!found) continue;
    for (DnnDescriptor& configuration : *found) {
      auto plan = plan_by(std::move(configuration), deterministic);
      if (!plan) why = std::move(plan).error().message;
      if (!plan || !*plan) continue;
      const std::uint64_t bytes = (*plan)->workspace_bytes();
      if (bytes <= most) return plan;
      least = std::min(bytes, least.value_or(bytes));
    }
  }
  if (least)
    why = "cuDNN's plan takes " + std::to_string(*least >> 20) + " MiB of scratch; plans of ranks count with " +
          std::to_string(most >> 20) + " MiB";
  return Error{least ? BALEEN_NO_MEMORY : BALEEN_UNSUPPORTED, std::move(why), {}};
}

Status DnnRun::operator()(CUstream stream, std::span<void* const> addresses, void* workspace) {
  const Dnn& dnn = plan_->dnn_;
  const DnnFunctions& f = dnn.functions();
  if (workspace != workspace_ || !std::ranges::equal(addresses, addresses_)) {
    addresses_.clear();
    BALEEN_TRY_ASSIGN(bound_, DnnDescriptor::make(f, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
    BALEEN_TRY(bound_.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, tensors_));
    BALEEN_TRY(bound_.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                          static_cast<std::int64_t>(addresses.size()), addresses.data()));
    BALEEN_TRY(bound_.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace));
    BALEEN_TRY(bound_.finalize("binding addresses"));
    addresses_.assign(addresses.begin(), addresses.end());
    workspace_ = workspace;
  }
  BALEEN_TRY(f.check(f.cudnnSetStream(dnn.handle(), stream), "choosing a stream"));
  return f.check(f.cudnnBackendExecute(dnn.handle(), plan_->plan_.handle(), bound_.handle()), "enqueueing a plan");
}

}  // namespace baleen::cuda

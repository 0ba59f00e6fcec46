/// \file The part of cuDNN's graph interface that the plugin calls: descriptors are bags of attributes until a graph is
/// made of them; the one engine takes heads up to 128 wide and computes by dnn_graph.cpp.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "dnn_graph.hpp"
#include "streams.hpp"

namespace em = baleen::emulated;

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

namespace {

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  std::map<int, std::vector<char>> attributes;
  bool finalized = false;
  std::shared_ptr<const em::DnnGraph> graph;  // of graphs, heuristics, configurations, engines and plans
  std::string fault = {};                     // of configurations, engines and plans: EMULATED_CUDA_DNN_FIRST

  template <class T>
  T value(cudnnBackendAttributeName_t name, T fallback = {}) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) return fallback;
    T out;
    std::memcpy(&out, found->second.data(), sizeof out);
    return out;
  }
  template <class T>
  std::vector<T> list(cudnnBackendAttributeName_t name) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) return {};
    std::vector<T> out(found->second.size() / sizeof(T));
    std::memcpy(out.data(), found->second.data(), found->second.size());
    return out;
  }
  const Descriptor* other(cudnnBackendAttributeName_t name) const {
    return static_cast<const Descriptor*>(value<cudnnBackendDescriptor_t>(name));
  }
};

std::size_t bytes_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN: return sizeof(bool);
    case CUDNN_TYPE_CHAR: return 1;
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: return 8;
    default: return 4;
  }
}

em::DnnTensor tensor(const Descriptor* d) {
  em::DnnTensor out;
  if (!d) return out;
  out.id = d->value<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  out.type = d->value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  out.extents = d->value<em::Extents>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  out.strides = d->value<em::Extents>(CUDNN_ATTR_TENSOR_STRIDES);
  out.is_virtual = d->value<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  out.by_value = d->value<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE);
  return out;
}

em::DnnOp op(const Descriptor& d) {
  em::DnnOp out;
  out.kind = d.type;
  if (d.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
    const Descriptor* how = d.other(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    out.mode = how->value<int>(CUDNN_ATTR_POINTWISE_MODE);
    out.axis = how->value<std::int64_t>(CUDNN_ATTR_POINTWISE_AXIS);
    out.x = tensor(d.other(CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
    out.b = tensor(d.other(CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
    out.t = tensor(d.other(CUDNN_ATTR_OPERATION_POINTWISE_TDESC));
    out.y = tensor(d.other(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
  } else if (d.type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) {
    out.x = tensor(d.other(CUDNN_ATTR_OPERATION_MATMUL_ADESC));
    out.b = tensor(d.other(CUDNN_ATTR_OPERATION_MATMUL_BDESC));
    out.y = tensor(d.other(CUDNN_ATTR_OPERATION_MATMUL_CDESC));
  } else if (d.type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR) {
    out.mode = d.other(CUDNN_ATTR_OPERATION_REDUCTION_DESC)->value<int>(CUDNN_ATTR_REDUCTION_OPERATOR);
    out.x = tensor(d.other(CUDNN_ATTR_OPERATION_REDUCTION_XDESC));
    out.y = tensor(d.other(CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
  } else {
    out.x = tensor(d.other(CUDNN_ATTR_OPERATION_RESHAPE_XDESC));
    out.y = tensor(d.other(CUDNN_ATTR_OPERATION_RESHAPE_YDESC));
  }
  return out;
}

/// Products of matrices that fit each other, the first of them no wider than the engine.
bool is_taken(const em::DnnGraph& graph) {
  constexpr std::int64_t kWidest = 128;
  bool good = !graph.ops.empty(), is_first = true;
  for (const em::DnnOp& one : graph.ops) {
    if (one.kind != CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) continue;
    good = good && one.x.extents[3] == one.b.extents[2] && one.x.extents[2] == one.y.extents[2] &&
           one.b.extents[3] == one.y.extents[3] && (!is_first || one.x.extents[3] <= kWidest);
    is_first = false;
  }
  return good;
}

Descriptor& at(cudnnBackendDescriptor_t handle) { return *static_cast<Descriptor*>(handle); }

}  // namespace

extern "C" {

std::size_t cudnnGetVersion() { return CUDNN_VERSION; }
const char* cudnnGetErrorString(cudnnStatus_t) { return "an emulated failure"; }
void cudnnGetLastErrorString(char* text, std::size_t bytes) {
  if (bytes > 0) text[0] = 0;
}
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* out) {
  *out = new Descriptor{type, {}, false, nullptr, {}};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t handle) {
  delete static_cast<Descriptor*>(handle);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t handle, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t count, const void* data) {
  Descriptor& d = at(handle);
  if (d.finalized || count <= 0 || !data) return CUDNN_STATUS_BAD_PARAM;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
    for (std::int64_t i = 0; i < count; ++i)
      if (!at(static_cast<const cudnnBackendDescriptor_t*>(data)[i]).finalized)
        return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
  const char* bytes = static_cast<const char*>(data);
  d.attributes[name].assign(bytes, bytes + static_cast<std::size_t>(count) * bytes_of(type));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t handle) {
  Descriptor& d = at(handle);
  d.finalized = true;
  if (d.type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
    auto graph = std::make_shared<em::DnnGraph>();
    for (const auto one : d.list<cudnnBackendDescriptor_t>(CUDNN_ATTR_OPERATIONGRAPH_OPS))
      graph->ops.push_back(op(at(one)));
    d.graph = graph;
  } else if (d.type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) {
    d.graph = d.other(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)->graph;
  } else if (d.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    d.graph = d.other(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)->graph;
    d.fault = d.other(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)->fault;
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t handle, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, std::int64_t, std::int64_t* count, void* out) {
  const Descriptor& d = at(handle);
  const auto give = [&](int number, const std::string& fault) {
    Descriptor& to = at(static_cast<cudnnBackendDescriptor_t*>(out)[number]);
    to.graph = d.graph;
    to.fault = fault;
    to.finalized = true;
  };
  *count = 1;
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS: {
      const char* first = std::getenv("EMULATED_CUDA_DNN_FIRST");
      *count = is_taken(*d.graph) ? (first ? 2 : 1) : 0;
      for (int i = 0; i < *count; ++i) give(i, first && i == 0 ? first : "");
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_ENGINECFG_ENGINE: give(0, d.fault); return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      if (d.fault == "mute") return CUDNN_STATUS_NOT_SUPPORTED;
      *count = d.graph->may_vary() ? 1 : 0;
      if (*count) *static_cast<cudnnBackendNumericalNote_t*>(out) = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      *static_cast<std::int64_t*>(out) = d.fault == "large" ? 1 << 30 : 512;
      return CUDNN_STATUS_SUCCESS;
    default: return CUDNN_STATUS_NOT_SUPPORTED;
  }
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  const auto ids = at(pack).list<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = at(pack).list<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  if (!at(pack).finalized || ids.size() != pointers.size() || !at(pack).value<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE))
    return CUDNN_STATUS_BAD_PARAM;
  struct Call {
    std::shared_ptr<const em::DnnGraph> graph;
    std::map<std::int64_t, void*> addresses;
    std::map<std::int64_t, float> numbers;
  };
  auto call = std::make_unique<Call>(Call{at(plan).graph, {}, {}});
  for (std::size_t i = 0; i < ids.size(); ++i) call->addresses[ids[i]] = pointers[i];
  // As the real one (9.x on an H100) does with a tensor that no op has.
  if (!call->graph->has_all(ids)) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (!call->graph->can_run(call->addresses)) return CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER;
  // Numbers are the host's, which may change them after this call.
  for (const em::DnnOp& one : call->graph->ops)
    if (one.b.by_value) {
      call->numbers[one.b.id] = *static_cast<const float*>(call->addresses[one.b.id]);
      call->addresses[one.b.id] = &call->numbers[one.b.id];
    }
  if (const char* log = std::getenv("EMULATED_CUDA_LOG"))
    if (std::FILE* file = std::fopen(log, "a")) {
      std::fprintf(file, "graph of %zu ops%s, on stream %lu\n", call->graph->ops.size(),
                   call->graph->may_vary() ? ", may vary" : "", baleen_emulated_stream_number(handle->stream));
      std::fclose(file);
    }
  baleen_emulated_enqueue(
      handle->stream,
      [](void* argument) {
        const Call& work = *static_cast<const Call*>(argument);
        work.graph->run(work.addresses);
      },
      call.release(), [](void* argument) { delete static_cast<Call*>(argument); });
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"

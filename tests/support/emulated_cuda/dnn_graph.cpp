/// \file Computing a graph op by op in fp64, rounding wherever a tensor has a narrower type.
#include "dnn_graph.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace baleen::emulated {
namespace {

double rounded(cudnnDataType_t type, double x) {
  const auto narrow = static_cast<float>(x);
  switch (type) {
    case CUDNN_DATA_BFLOAT16: return static_cast<double>(__bfloat162float(__float2bfloat16_rn(narrow)));
    case CUDNN_DATA_HALF: return static_cast<double>(__half2float(__float2half_rn(narrow)));
    default: return static_cast<double>(narrow);
  }
}

/// Where a tensor's elements are: in memory, or inner ones as numbers.
struct Place {
  void* memory = nullptr;
  std::shared_ptr<std::vector<double>> inner;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;

  double load(std::int64_t at) const {
    if (inner) return (*inner)[static_cast<std::size_t>(at)];
    switch (type) {
      case CUDNN_DATA_BFLOAT16: return static_cast<double>(__bfloat162float(static_cast<__nv_bfloat16*>(memory)[at]));
      case CUDNN_DATA_HALF: return static_cast<double>(__half2float(static_cast<__half*>(memory)[at]));
      default: return static_cast<double>(static_cast<float*>(memory)[at]);
    }
  }
  void store(std::int64_t at, double x) const {
    if (inner)
      (*inner)[static_cast<std::size_t>(at)] = rounded(type, x);
    else if (type == CUDNN_DATA_BFLOAT16)
      static_cast<__nv_bfloat16*>(memory)[at] = __float2bfloat16_rn(static_cast<float>(x));
    else if (type == CUDNN_DATA_HALF)
      static_cast<__half*>(memory)[at] = __float2half_rn(static_cast<float>(x));
    else
      static_cast<float*>(memory)[at] = static_cast<float>(x);
  }
};

/// Where the element lies. A tensor with fewer along a dimension repeats them: one for all, or a head for its group.
std::int64_t offset(const DnnTensor& t, const Extents& index, const Extents& whole) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < 4; ++d) at += index[d] / (whole[d] / t.extents[d]) * t.strides[d];
  return at;
}

void each(const Extents& extents, const std::function<void(const Extents&)>& body) {
  Extents i{};
  for (i[0] = 0; i[0] < extents[0]; ++i[0])
    for (i[1] = 0; i[1] < extents[1]; ++i[1])
      for (i[2] = 0; i[2] < extents[2]; ++i[2])
        for (i[3] = 0; i[3] < extents[3]; ++i[3]) body(i);
}

double apply(int mode, double x, double b, double t) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD: return x + b;
    case CUDNN_POINTWISE_MUL: return x * b;
    case CUDNN_POINTWISE_SUB: return x - b;
    case CUDNN_POINTWISE_DIV: return x / b;
    case CUDNN_POINTWISE_EXP: return std::exp(x);
    case CUDNN_POINTWISE_LOG: return std::log(x);
    case CUDNN_POINTWISE_IDENTITY: return x;
    case CUDNN_POINTWISE_CMP_GE: return x >= b ? 1 : 0;
    case CUDNN_POINTWISE_BINARY_SELECT: return t != 0 ? x : b;
    default: return std::nan("");
  }
}

class Runner {
 public:
  explicit Runner(const std::map<std::int64_t, void*>& addresses) {
    for (const auto& [id, address] : addresses) places_[id].memory = address;
  }
  void run(const DnnOp& op) {
    switch (op.kind) {
      case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: return matmul(op);
      case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR: return reduce(op);
      case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR: return reshape(op);
      default: return pointwise(op);
    }
  }

 private:
  const Place& place(const DnnTensor& t) {
    Place& out = places_[t.id];
    out.type = t.type;
    if (!out.memory && !out.inner) {
      std::int64_t last = 0;
      for (std::size_t d = 0; d < 4; ++d) last += (t.extents[d] - 1) * t.strides[d];
      out.inner = std::make_shared<std::vector<double>>(static_cast<std::size_t>(last) + 1, std::nan(""));
    }
    return out;
  }

  void pointwise(const DnnOp& op) {
    const Place &x = place(op.x), &y = place(op.y);
    const Place* b = op.b.id < 0 ? nullptr : &place(op.b);
    const Place* t = op.t.id < 0 ? nullptr : &place(op.t);
    each(op.y.extents, [&](const Extents& i) {
      const auto at = [&](const Place* from, const DnnTensor& tensor) {
        return from ? from->load(offset(tensor, i, op.y.extents)) : 0.0;
      };
      const double value = op.mode == CUDNN_POINTWISE_GEN_INDEX
                               ? static_cast<double>(i[static_cast<std::size_t>(op.axis)])
                               : apply(op.mode, at(&x, op.x), at(b, op.b), at(t, op.t));
      y.store(offset(op.y, i, op.y.extents), value);
    });
  }

  void matmul(const DnnOp& op) {
    const Place &a = place(op.x), &b = place(op.b), &c = place(op.y);
    const std::int64_t depth = op.x.extents[3];
    each(op.y.extents, [&](const Extents& i) {
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum += a.load(offset(op.x, {i[0], i[1], i[2], k}, {op.y.extents[0], op.y.extents[1], op.y.extents[2], depth})) *
               b.load(offset(op.b, {i[0], i[1], k, i[3]}, {op.y.extents[0], op.y.extents[1], depth, op.y.extents[3]}));
      c.store(offset(op.y, i, op.y.extents), sum);
    });
  }

  void reduce(const DnnOp& op) {
    const Place &x = place(op.x), &y = place(op.y);
    const bool is_max = op.mode == CUDNN_REDUCE_TENSOR_MAX;
    std::map<std::int64_t, double> results;
    each(op.x.extents, [&](const Extents& i) {
      const double value = x.load(offset(op.x, i, op.x.extents));
      const auto [found, is_new] = results.emplace(offset(op.y, i, op.x.extents), value);
      if (!is_new) found->second = is_max ? std::max(found->second, value) : found->second + value;
    });
    for (const auto& [at, value] : results) y.store(at, value);
  }

  /// The same memory, seen with other extents and strides.
  void reshape(const DnnOp& op) {
    const Place &x = place(op.x), &y = place(op.y);
    each(op.y.extents, [&](const Extents& i) {
      const std::int64_t at = offset(op.y, i, op.y.extents);
      y.store(at, x.load(at));
    });
  }

  std::map<std::int64_t, Place> places_;
};

}  // namespace

bool DnnGraph::has_all(const std::vector<std::int64_t>& ids) const {
  return std::all_of(ids.begin(), ids.end(), [&](std::int64_t id) {
    return std::any_of(ops.begin(), ops.end(), [id](const DnnOp& op) {
      return op.x.id == id || op.b.id == id || op.t.id == id || op.y.id == id;
    });
  });
}

bool DnnGraph::can_run(const std::map<std::int64_t, void*>& addresses) const {
  for (const DnnOp& op : ops)
    for (const DnnTensor* t : {&op.x, &op.b, &op.t, &op.y}) {
      if (t->id < 0 || t->is_virtual) continue;
      const auto found = addresses.find(t->id);
      if (found == addresses.end() || !found->second) return false;
      if (!t->by_value && reinterpret_cast<std::uintptr_t>(found->second) % 16 != 0) return false;
    }
  return true;
}

void DnnGraph::run(const std::map<std::int64_t, void*>& addresses) const {
  Runner runner(addresses);
  for (const DnnOp& op : ops) runner.run(op);
}

bool DnnGraph::may_vary() const {
  return std::any_of(ops.begin(), ops.end(), [](const DnnOp& op) {
    return op.kind == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR && !op.y.is_virtual && op.y.type == CUDNN_DATA_FLOAT;
  });
}

}  // namespace baleen::emulated

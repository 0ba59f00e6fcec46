/// \file A compute plugin for tests of programs: the reference definitions behind strided views, with powers that can
/// be switched off one by one.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "baleen/compute.h"
#include "baleen/dtype.hpp"
#include "baleen/event.hpp"
#include "baleen/plugin.hpp"
#include "compiler/graph/abi.hpp"
#include "support/reference_expression.hpp"
#include "support/reference_kernels.hpp"

BALEEN_DESCRIPTOR(
    "compute", "toy", "1.0.0", "Apache-2.0", "Reference kernels for tests", -1, "",
    BALEEN_OPTION("regions", BALEEN_OPTION_BOOL, 0, 1, 0, "true", "", "", "computes regions of several ops"),
    BALEEN_OPTION("aliases", BALEEN_OPTION_BOOL, 0, 1, 0, "true", "", "", "allows results in the bytes of inputs"),
    BALEEN_OPTION("addend", BALEEN_OPTION_BOOL, 0, 1, 0, "true", "", "", "contractions take a third input"),
    BALEEN_OPTION("lacks", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "", "kinds that it does not support, between commas"),
    BALEEN_OPTION("scratch", BALEEN_OPTION_INT, 0, 0, 1e9, "0", "", "",
                  "bytes of scratch that each kernel scribbles on"),
    BALEEN_OPTION("memory", BALEEN_OPTION_INT, 0, 0, 1e12, "1000000000", "", "", "bytes that may be planned for"));

namespace baleen::test {
namespace {

struct Powers {
  bool regions, aliases, addend;
  std::string lacks;
  std::uint64_t scratch, memory;
};

double load(const baleen_tensor_t& tensor, const void* base, std::int64_t at) {
  switch (tensor.dtype) {
    case BALEEN_F64: return static_cast<const double*>(base)[at];
    case BALEEN_F32: return static_cast<const float*>(base)[at];
    case BALEEN_I32: return static_cast<const std::int32_t*>(base)[at];
    default: throw std::runtime_error("toy: no such dtype");
  }
}

void store(const baleen_tensor_t& tensor, void* base, std::int64_t at, double value) {
  switch (tensor.dtype) {
    case BALEEN_F64: static_cast<double*>(base)[at] = value; break;
    case BALEEN_F32: static_cast<float*>(base)[at] = static_cast<float>(value); break;
    case BALEEN_I32: static_cast<std::int32_t*>(base)[at] = static_cast<std::int32_t>(value); break;
    default: throw std::runtime_error("toy: no such dtype");
  }
}

std::int64_t offset(const baleen_tensor_t& tensor, const Coordinate& c) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < c.size(); ++d) at += c[d] * tensor.stride[d];
  return at;
}

Shape shape_of(const baleen_tensor_t& tensor) { return {tensor.shape, tensor.shape + tensor.rank}; }

/// A region, kept by value.
struct ToyKernel {
  std::vector<Op> ops;  ///< operands are tensor numbers
  std::vector<baleen_tensor_t> tensors;
  std::vector<baleen_alias_t> aliases;
};

struct ToyDevice {
  Host host;
  Powers powers;
  OpRegistry registry;  ///< of names alone
  std::map<std::string, Kernel> kernels;

  static ToyDevice& of(void* p) { return *static_cast<ToyDevice*>(p); }

  bool supports(const baleen_region_t& region) const {
    if (region.op_count > 1 && !powers.regions) return false;
    for (std::uint64_t i = 0; i < region.op_count; ++i) {
      const std::string kind(view(element(region.ops, i).kind));
      if (("," + powers.lacks + ",").find("," + kind + ",") != std::string::npos) return false;
      if (!kernels.contains(kind)) return false;
      if (kind == "matmul" && element(region.ops, i).input_count == 3 && !powers.addend) return false;
    }
    return true;
  }

  Result<ToyKernel*> compile(const baleen_region_t& region) const {
    auto kernel = std::make_unique<ToyKernel>();
    for (std::uint64_t i = 0; i < region.tensor_count; ++i)
      kernel->tensors.push_back(copy_in(&element(region.tensors, i)));
    for (std::uint64_t i = 0; i < region.op_count; ++i) {
      const baleen_op_view_t& from = element(region.ops, i);
      Op op;
      op.kind = registry.find(std::string(view(from.kind)));
      op.name = std::string(view(from.name));
      op.inputs.assign(from.inputs, from.inputs + from.input_count);
      op.outputs.assign(from.outputs, from.outputs + from.output_count);
      BALEEN_TRY_ASSIGN(op.attributes, from_abi(from.attributes, from.attribute_count));
      kernel->ops.push_back(std::move(op));
    }
    if (powers.aliases) add_aliases(*kernel);
    return kernel.release();
  }

  /// Everything is read before anything is written, so any pair of equal types is legal.
  static void add_aliases(ToyKernel& kernel) {
    for (std::uint32_t out = 0; out < kernel.tensors.size(); ++out)
      for (std::uint32_t in = 0; in < kernel.tensors.size(); ++in) {
        const baleen_tensor_t &y = kernel.tensors[out], &x = kernel.tensors[in];
        if ((y.flags & BALEEN_TENSOR_OUTPUT) && (x.flags & BALEEN_TENSOR_EXTERNAL_INPUT) && x.dtype == y.dtype &&
            shape_of(x) == shape_of(y))
          kernel.aliases.push_back({out, in});
      }
  }

  void launch(const ToyKernel& kernel, const baleen_launch_t& launch) const {
    if (powers.scratch) std::memset(launch.scratch, 0xab, powers.scratch);
    std::vector<Tensor> values;
    for (std::size_t t = 0; t < kernel.tensors.size(); ++t)
      values.push_back(gather(kernel.tensors[t], launch.tensors[t]));
    for (const Op& op : kernel.ops) run(kernel, op, values, launch);
    for (std::size_t t = 0; t < kernel.tensors.size(); ++t)
      if (kernel.tensors[t].flags & BALEEN_TENSOR_OUTPUT) {
        const baleen_tensor_t& tensor = kernel.tensors[t];
        std::size_t n = 0;
        for_each(shape_of(tensor),
                 [&](const Coordinate& c) { store(tensor, launch.tensors[t], offset(tensor, c), values[t][n++]); });
      }
  }

  static Tensor gather(const baleen_tensor_t& tensor, const void* base) {
    Tensor value(shape_of(tensor));
    if (!(tensor.flags & BALEEN_TENSOR_EXTERNAL_INPUT)) return value;
    std::size_t n = 0;
    for_each(value.shape, [&](const Coordinate& c) { value[n++] = load(tensor, base, offset(tensor, c)); });
    return value;
  }

  void run(const ToyKernel& kernel, const Op& op, std::vector<Tensor>& values, const baleen_launch_t& launch) const {
    if (op.kind->name == "pointwise") return run_pointwise(kernel, op, values, launch);
    Call call{op, {}, {}, {}, launch.seed, launch.step};
    for (auto t : op.inputs) call.inputs.push_back(&values[t]);
    for (auto t : op.outputs) {
      call.outputs.emplace_back(shape_of(kernel.tensors[t]));
      call.dtypes.push_back(kernel.tensors[t].dtype);
    }
    kernels.at(op.kind->name)(call);
    for (std::size_t i = 0; i < op.outputs.size(); ++i) values[op.outputs[i]] = std::move(call.outputs[i]);
  }

  /// The reference takes coordinates as they are; here they are of the whole batch.
  static void run_pointwise(const ToyKernel& kernel, const Op& op, std::vector<Tensor>& values,
                            const baleen_launch_t& launch) {
    const baleen_tensor_t& y = kernel.tensors[op.outputs[0]];
    const Expression& expression = op.attributes.expression("expression");
    const auto& results = op.attributes.integers("results");
    std::vector<Tensor> outputs(op.outputs.size(), Tensor(shape_of(y)));
    for_each(shape_of(y), [&](const Coordinate& local) {
      Element element{local, 0, launch.seed, launch.step};
      if (y.micro_dim >= 0)
        element.coordinate[static_cast<std::size_t>(y.micro_dim)] +=
            static_cast<std::int64_t>(launch.micro) * y.micro_step;
      for (std::size_t d = 0; d < local.size(); ++d)
        element.number = element.number * static_cast<std::uint64_t>(y.global_shape[d]) +
                         static_cast<std::uint64_t>(element.coordinate[d]);
      std::vector<double> inputs;
      for (auto t : op.inputs) {
        Coordinate c(local.begin(), local.begin() + static_cast<std::ptrdiff_t>(values[t].shape.size()));
        for (std::size_t d = 0; d < c.size(); ++d)
          if (values[t].shape[d] == 1) c[d] = 0;
        inputs.push_back(values[t].at(c));
      }
      const auto all = evaluate(expression, inputs, element);
      for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i].at(local) = all[static_cast<std::size_t>(results[i])];
    });
    for (std::size_t i = 0; i < outputs.size(); ++i) values[op.outputs[i]] = std::move(outputs[i]);
  }
};

template <class Body>
baleen_status_t guarded(void* device, Body&& body) {
  return guard(ToyDevice::of(device).host, [&]() -> Status { return body(ToyDevice::of(device)); });
}

baleen_status_t create(const baleen_host_t* host, const baleen_settings_t* settings, void** out) {
  return guard(Host(host), [&]() -> Status {
    const Settings s(settings);
    auto device = std::make_unique<ToyDevice>();
    device->host = Host(host);
    device->powers = {s.boolean("regions"),
                      s.boolean("aliases"),
                      s.boolean("addend"),
                      std::string(s.text("lacks")),
                      static_cast<std::uint64_t>(s.integer("scratch")),
                      static_cast<std::uint64_t>(s.integer("memory"))};
    add_basic_kernels(device->kernels);
    add_network_kernels(device->kernels);
    add_attention_kernels(device->kernels);
    for (const auto& [name, kernel] : device->kernels) {
      OpKind kind;
      kind.name = name;
      BALEEN_TRY(device->registry.add(std::move(kind)));
    }
    *out = device.release();
    return {};
  });
}

void add_memory(baleen_compute_t& t) {
  t.info = [](void* d, baleen_device_info_t* out) -> baleen_status_t {
    std::strcpy(out->name, "toy");
    out->memory_bytes = ToyDevice::of(d).powers.memory;
    out->threads = 1;
    out->alignment = 64;
    return BALEEN_OK;
  };
  t.arena_create = [](void* d, baleen_arena_kind_t, std::uint64_t bytes, void** base) -> baleen_status_t {
    *base = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!*base) return ToyDevice::of(d).host.fail(BALEEN_NO_MEMORY, "toy: no memory");
    std::memset(*base, 0, bytes);
    return BALEEN_OK;
  };
  t.arena_destroy = [](void*, baleen_arena_kind_t, void* base, std::uint64_t) { std::free(base); };
  t.copy = [](void*, void*, void* to, const void* from, std::uint64_t bytes) -> baleen_status_t {
    std::memcpy(to, from, bytes);
    return BALEEN_OK;
  };
  t.zero = [](void*, void*, void* to, std::uint64_t bytes) -> baleen_status_t {
    std::memset(to, 0, bytes);
    return BALEEN_OK;
  };
}

baleen_compute_t make_table() {
  baleen_compute_t t{};
  t.create = create;
  t.destroy = [](void* d) { delete &ToyDevice::of(d); };
  t.supports = [](void* d, const baleen_region_t* region) -> std::uint32_t {
    return ToyDevice::of(d).supports(*region);
  };
  t.compile = [](void* d, const baleen_region_t* region, baleen_kernel_t* out) {
    return guarded(d, [&](ToyDevice& device) -> Status {
      BALEEN_TRY_ASSIGN(ToyKernel * kernel, device.compile(*region));
      *out = {sizeof(*out), kernel, device.powers.scratch, kernel->aliases.data(), kernel->aliases.size(), 0};
      return {};
    });
  };
  t.release = [](void*, void* kernel) { delete static_cast<ToyKernel*>(kernel); };
  t.launch = [](void* d, void* kernel, const baleen_launch_t* launch) {
    return guarded(d, [&](ToyDevice& device) -> Status {
      device.launch(*static_cast<ToyKernel*>(kernel), *launch);
      return {};
    });
  };
  t.stream_create = [](void*, void** stream) -> baleen_status_t {
    *stream = nullptr;
    return BALEEN_OK;
  };
  t.stream_destroy = [](void*, void*) {};
  t.stream_wait = [](void*, void*, baleen_event_t* event, std::uint64_t value) -> baleen_status_t {
    event_wait(*event, value);
    return BALEEN_OK;
  };
  t.stream_signal = [](void*, void*, baleen_event_t* event, std::uint64_t value) -> baleen_status_t {
    event_signal(*event, value);
    return BALEEN_OK;
  };
  t.synchronize = [](void*, void*) -> baleen_status_t { return BALEEN_OK; };
  t.query = [](void*, baleen_string_t) -> const void* { return nullptr; };
  add_memory(t);
  return t;
}

}  // namespace
}  // namespace baleen::test

BALEEN_EXPORT_TABLE(baleen::test::make_table());

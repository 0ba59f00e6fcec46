/// \file A compute backend: a device whose memory is the host's, and which computes by plain loops. It has what every
/// device needs, and almost nothing for speed. For a device of yours replace the memory and the streams of `Loops`, the
/// last class, by those of its driver, then the kernels one after the other. A kind of op that plugins bring with a
/// kernel for the processor (op_kind.h) it does not take.
///
/// All arithmetic is in double. Where fp32 is asked for, each result is rounded to fp32 at once. For + - * / and sqrt
/// this is what fp32 arithmetic gives, bit for bit, for a double has more than twice as many digits.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "baleen/available_memory.hpp"
#include "baleen/compute_table.hpp"
#include "baleen/contraction.hpp"
#include "baleen/event.hpp"
#include "baleen/expression.hpp"
#include "baleen/expression_value.hpp"
#include "baleen/half.hpp"
#include "baleen/region.hpp"

BALEEN_DESCRIPTOR("compute", "loops", "1.0.0", "Apache-2.0", "Plain loops in the host's memory, an example", -1, "",
                  BALEEN_OPTION("memory", BALEEN_OPTION_INT, 0, 0, 1e9, "0", "", "",
                                "MiB that may be planned for; 0: nine tenths of what is available"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

/// What `compile` makes of a region. `run` holds copies of all that it needs: the region is borrowed. It allocates
/// nothing; what it writes on the way lies in the launch's scratch.
struct Kernel {
  std::function<void(const baleen_launch_t&)> run;
  std::uint64_t scratch_bytes = 0;
  std::vector<baleen_alias_t> aliases = {};
  double flops = 0;
};

/// The nearest integer, of two the even one; beyond the range its end.
template <class Integer>
Integer nearest(double x) {
  constexpr Integer kLeast = std::numeric_limits<Integer>::min(), kMost = std::numeric_limits<Integer>::max();
  x = std::nearbyint(x);
  if (!(x > static_cast<double>(kLeast))) return kLeast;  // of what is no number too
  return x >= static_cast<double>(kMost) ? kMost : static_cast<Integer>(x);
}

double load(const void* data, baleen_dtype_t dtype, std::int64_t at) {
  switch (dtype) {
    case BALEEN_F64: return static_cast<const double*>(data)[at];
    case BALEEN_F32: return static_cast<const float*>(data)[at];
    case BALEEN_BF16: return from_bf16(static_cast<const std::uint16_t*>(data)[at]);
    case BALEEN_F16: return from_fp16(static_cast<const std::uint16_t*>(data)[at]);
    case BALEEN_I32: return static_cast<const std::int32_t*>(data)[at];
    default: return static_cast<const std::uint8_t*>(data)[at];
  }
}

void store(void* data, baleen_dtype_t dtype, std::int64_t at, double value) {
  switch (dtype) {
    case BALEEN_F64: static_cast<double*>(data)[at] = value; break;
    case BALEEN_F32: static_cast<float*>(data)[at] = static_cast<float>(value); break;
    case BALEEN_BF16: static_cast<std::uint16_t*>(data)[at] = to_bf16(static_cast<float>(value)); break;
    case BALEEN_F16: static_cast<std::uint16_t*>(data)[at] = to_fp16(static_cast<float>(value)); break;
    case BALEEN_I32: static_cast<std::int32_t*>(data)[at] = nearest<std::int32_t>(value); break;
    default: static_cast<std::uint8_t*>(data)[at] = nearest<std::uint8_t>(value);
  }
}

/// `value` as a floating dtype holds it.
double rounded(double value, baleen_dtype_t dtype) {
  if (dtype == BALEEN_F64) return value;
  double room = 0;
  store(&room, dtype, 0, value);
  return load(&room, dtype, 0);
}

/// One loop, and how far each operand moves in it from one pass to the next, in elements.
struct Loop {
  std::int64_t extent;
  std::vector<std::int64_t> steps;
};

/// Calls body() once for each index, the last loop's fastest. at[i] is then the element of operand i; it begins where
/// the caller has set it, and is back there in the end.
template <class Body>
void each(std::span<const Loop> loops, std::int64_t* at, const Body& body) {
  if (loops.empty()) return body();
  const Loop& loop = loops.front();
  const std::size_t operands = loop.steps.size();
  for (std::int64_t i = 0; i < loop.extent; ++i) {
    each(loops.subspan(1), at, body);
    for (std::size_t k = 0; k < operands; ++k) at[k] += loop.steps[k];
  }
  for (std::size_t k = 0; k < operands; ++k) at[k] -= loop.extent * loop.steps[k];
}

/// The loops over the first `rank` dimensions of `of`. An operand stays where it is along a dimension of which it has
/// one element; of rank 0 it has one along all.
std::vector<Loop> loops_over(const RegionOperand& of, const std::vector<RegionOperand>& operands, std::uint32_t rank) {
  std::vector<Loop> loops;
  for (std::uint32_t d = 0; d < rank; ++d) {
    loops.push_back({of.extent(d), {}});
    for (const RegionOperand& x : operands)
      loops.back().steps.push_back(x.rank() == 0 || x.extent(d) == 1 ? 0 : x.stride(d));
  }
  return loops;
}

/// y = x, and for `pad` zeros around it. Bytes move, whatever the dtype.
Result<Kernel> copy(const RegionOp& op) {
  const RegionOperand x = op.in(0), y = op.out(0);
  const std::vector<Loop> elements = loops_over(x, {x, y}, x.rank());
  std::vector<Loop> all;
  std::int64_t first = 0;
  const bool pads = op.op().kind() == "pad";
  if (pads) {
    all = loops_over(y, {y}, y.rank());
    first = op.op().integer("before") * y.stride(static_cast<std::uint32_t>(op.op().integer("dim")));
  }
  const std::size_t bytes = dtype_size(x.tensor.dtype);
  const auto wide = static_cast<std::int64_t>(bytes);
  return Kernel{[=](const baleen_launch_t& launch) {
    const char* const from = x.at<const char>(launch);
    char* const to = y.at<char>(launch);
    std::int64_t at[2] = {0, 0};
    if (pads) each(all, at, [&] { std::memset(to + at[0] * wide, 0, bytes); });
    at[1] = first;
    each(elements, at, [&] { std::memcpy(to + at[1] * wide, from + at[0] * wide, bytes); });
  }};
}

/// Elements of an operand from `at` on, `step` apart.
struct Line {
  const void* data;
  baleen_dtype_t dtype;
  std::int64_t at, step;
};

double dot(const Line& a, const Line& b, std::int64_t count) {
  double sum = 0;
  if (a.dtype == BALEEN_F32 && b.dtype == BALEEN_F32) {  // most are: without a choice for each element
    const auto *x = static_cast<const float*>(a.data) + a.at, *y = static_cast<const float*>(b.data) + b.at;
    for (std::int64_t i = 0; i < count; ++i) sum += double{x[i * a.step]} * double{y[i * b.step]};
  } else {
    for (std::int64_t i = 0; i < count; ++i)
      sum += load(a.data, a.dtype, a.at + i * a.step) * load(b.data, b.dtype, b.at + i * b.step);
  }
  return sum;
}

/// y = a·b, or c + a·b. Each sum is rounded once, when it is stored.
Result<Kernel> matmul(const RegionOp& op) {
  const RegionOperand a = op.in(0), b = op.in(1), y = op.out(0);
  const bool adds = op.inputs() > 2;
  const RegionOperand c = adds ? op.in(2) : y;
  BALEEN_TRY_ASSIGN(const ContractionGroups groups, contraction_groups(op.op().text("spec"), a, b, y, &c));
  std::vector<Loop> results, depth;
  for (const auto* group : {&groups.batch, &groups.m, &groups.n})
    for (const ContractionLoop& loop : *group) results.push_back({loop.extent, {loop.a, loop.b, loop.y, loop.c}});
  for (const ContractionLoop& loop : groups.k) depth.push_back({loop.extent, {loop.a, loop.b}});
  Loop inner{1, {0, 0}};
  if (!depth.empty()) {
    inner = depth.back();
    depth.pop_back();
  }
  Kernel kernel;
  kernel.flops = groups.flops();
  if (adds && same_layout(y.tensor, c.tensor)) kernel.aliases.push_back({y.number, c.number});
  kernel.run = [=](const baleen_launch_t& launch) {
    const void *const from_a = a.at<void>(launch), *const from_b = b.at<void>(launch);
    std::int64_t at[4] = {0, 0, 0, 0};  // of a, b, y and c
    each(results, at, [&] {
      double sum = 0;
      each(depth, at, [&] {
        sum += dot({from_a, a.tensor.dtype, at[0], inner.steps[0]}, {from_b, b.tensor.dtype, at[1], inner.steps[1]},
                   inner.extent);
      });
      if (adds) sum += load(c.at<void>(launch), c.tensor.dtype, at[3]);
      store(y.at<void>(launch), y.tensor.dtype, at[2], sum);
    });
  };
  return kernel;
}

/// A sum in pairs, pairs of pairs and so on, so that its error stays small. Its order depends on the number of terms
/// and on nothing else: every run gives the same bits.
class PairwiseSum {
 public:
  void add(double x) {
    std::size_t level = 0;
    for (std::uint64_t n = count_++; n & 1; n >>= 1) x = sums_[level++] + x;
    sums_[level] = x;  // of 2^level terms
  }
  double total() const {
    double all = 0;
    for (std::size_t level = 0; count_ >> level; ++level)
      if (count_ >> level & 1) all = sums_[level] + all;
    return all;
  }

 private:
  std::uint64_t count_ = 0;
  double sums_[64];  // sums_[i] counts where bit i of count_ is set
};

/// y = the sum of x, or its largest element, over some dimensions. Of nothing it is 0, or −∞; NaN stays NaN.
Result<Kernel> reduce(const RegionOp& op) {
  const RegionOperand x = op.in(0), y = op.out(0);
  const std::string_view kind = op.op().text("kind");
  if (kind != "sum" && kind != "max") return invalid("reduce has no kind `" + std::string(kind) + "`");
  const bool is_max = kind == "max", keeps = op.op().integer("keep", 0) != 0;
  const std::span<const std::int64_t> dims = op.op().integers("dims");
  std::vector<Loop> kept, reduced;
  std::uint32_t in_y = 0;
  for (std::uint32_t d = 0; d < x.rank(); ++d) {
    const bool goes = std::find(dims.begin(), dims.end(), std::int64_t{d}) != dims.end();
    if (goes)
      reduced.push_back({x.extent(d), {x.stride(d)}});
    else
      kept.push_back({x.extent(d), {x.stride(d), y.stride(in_y)}});
    if (!goes || keeps) ++in_y;
  }
  return Kernel{[=](const baleen_launch_t& launch) {
    const void* const from = x.at<void>(launch);
    std::int64_t at[2] = {0, 0};  // of x and y
    each(kept, at, [&] {
      PairwiseSum sum;
      double largest = -std::numeric_limits<double>::infinity();
      each(reduced, at, [&] {
        const double term = load(from, x.tensor.dtype, at[0]);
        if (!is_max)
          sum.add(term);
        else if (term > largest || std::isnan(term))
          largest = term;
      });
      store(y.at<void>(launch), y.tensor.dtype, at[1], is_max ? largest : sum.total());
    });
  }};
}

/// The k largest elements of each row and their numbers: the largest first, of equal ones the first, NaN above all.
Result<Kernel> top_k(const RegionOp& op) {
  const RegionOperand x = op.in(0), values = op.out(0), ids = op.out(1);
  const std::uint32_t last = x.rank() - 1;
  const std::int64_t classes = x.extent(last), k = values.extent(last);
  if (k > classes) return invalid("top_k of " + std::to_string(k) + " elements of " + std::to_string(classes));
  const std::vector<Loop> rows = loops_over(x, {x, values, ids}, last);
  Kernel kernel;
  kernel.scratch_bytes = static_cast<std::uint64_t>(classes) * sizeof(std::int32_t);
  kernel.run = [=](const baleen_launch_t& launch) {
    const void* const from = x.at<void>(launch);
    auto* const order = static_cast<std::int32_t*>(launch.scratch);
    std::int64_t at[3] = {0, 0, 0};
    each(rows, at, [&] {
      const auto element = [&](std::int64_t i) { return load(from, x.tensor.dtype, at[0] + i * x.stride(last)); };
      std::iota(order, order + classes, 0);
      std::partial_sort(order, order + k, order + classes, [&](std::int32_t i, std::int32_t j) {
        const double one = element(i), other = element(j);
        if (std::isnan(one) != std::isnan(other)) return std::isnan(one);
        return one > other || (!(one < other) && i < j);
      });
      for (std::int64_t i = 0; i < k; ++i) {
        store(values.at<void>(launch), values.tensor.dtype, at[1] + i * values.stride(last), element(order[i]));
        ids.at<std::int32_t>(launch)[at[2] + i * ids.stride(last)] = order[i];
      }
    });
  };
  return kernel;
}

/// Where a rank's elements stand in the global tensor. Random numbers and INDEX depend on this alone, so that they are
/// the same however the work is shared out.
struct Places {
  explicit Places(const baleen_tensor_t& tensor) : view(tensor) {
    for (std::uint32_t d = 0; d < tensor.rank; ++d) {
      runs.push_back({{0, 0, tensor.shape[d]}});
      if (tensor.run_count[d] > 0) runs.back().assign(tensor.runs[d], tensor.runs[d] + tensor.run_count[d]);
    }
  }
  std::int64_t coordinate(std::uint32_t dim, std::int64_t local, std::uint64_t micro) const {
    std::int64_t global = local;
    for (const baleen_run_t& run : runs[dim])
      if (local >= run.local && local < run.local + run.length) global = run.global + (local - run.local);
    const bool moves = static_cast<std::int32_t>(dim) == view.micro_dim;
    return moves ? global + static_cast<std::int64_t>(micro) * view.micro_step : global;
  }
  /// The row-major number of the element with these local coordinates.
  std::uint64_t element(const std::int64_t* local, std::uint64_t micro) const {
    std::uint64_t number = 0;
    for (std::uint32_t d = 0; d < view.rank; ++d)
      number = number * static_cast<std::uint64_t>(view.global_shape[d]) +
               static_cast<std::uint64_t>(coordinate(d, local[d], micro));
    return number;
  }

  baleen_tensor_t view;
  std::vector<std::vector<baleen_run_t>> runs;  // copies: those of the tensor are borrowed
};

/// An expression of the inputs for each element: its instructions one after the other, then its results are stored.
Result<Kernel> pointwise(const RegionOp& op) {
  std::vector<RegionOperand> operands;
  for (std::size_t i = 0; i < op.inputs(); ++i) operands.push_back(op.in(i));
  for (std::size_t i = 0; i < op.outputs(); ++i) operands.push_back(op.out(i));
  const std::size_t inputs = op.inputs(), count = operands.size();
  const RegionOperand y = op.out(0);
  const auto expression = op.op().expression("expression");
  const auto numbers = op.op().integers("results");
  BALEEN_TRY(check_expression(expression, numbers, inputs, op.outputs(), y.rank()));
  const std::vector<baleen_instruction_t> code(expression.begin(), expression.end());
  const std::vector<std::int64_t> results(numbers.begin(), numbers.end());
  // The local coordinates are counted as operands are.
  std::vector<Loop> loops = loops_over(y, operands, y.rank());
  for (std::size_t d = 0; d < loops.size(); ++d)
    for (std::size_t e = 0; e < loops.size(); ++e) loops[d].steps.push_back(d == e ? 1 : 0);
  // fp64 where a floating input is, or, without floating inputs, the first output.
  bool any_float = false, wide = false;
  for (std::size_t i = 0; i < inputs; ++i) {
    any_float = any_float || is_floating(operands[i].tensor.dtype);
    wide = wide || operands[i].tensor.dtype == BALEEN_F64;
  }
  const baleen_dtype_t computed_in =
      wide || (!any_float && y.tensor.dtype == BALEEN_F64) ? baleen_dtype_t{BALEEN_F64} : baleen_dtype_t{BALEEN_F32};
  Kernel kernel;
  kernel.scratch_bytes = code.size() * sizeof(double) + (count + y.rank()) * sizeof(std::int64_t);
  for (std::size_t i = 0; i < inputs; ++i)
    for (std::size_t o = inputs; o < count; ++o)  // an element's inputs are read before its results are stored
      if (same_layout(operands[o].tensor, operands[i].tensor))
        kernel.aliases.push_back({operands[o].number, operands[i].number});
  kernel.run = [=, places = Places(y.tensor)](const baleen_launch_t& launch) {
    auto* const values = static_cast<double*>(launch.scratch);  // of each instruction
    auto* const at = reinterpret_cast<std::int64_t*>(values + code.size());
    std::fill(at, at + count + y.rank(), 0);
    each(loops, at, [&] {
      const std::int64_t* const local = at + count;
      for (std::size_t n = 0; n < code.size(); ++n) {
        const baleen_instruction_t& i = code[n];
        double value = 0;
        switch (i.opcode) {
          case BALEEN_X_INPUT:
            value = load(launch.tensors[operands[i.a].number], operands[i.a].tensor.dtype, at[i.a]);
            break;
          case BALEEN_X_CONSTANT: value = i.constant; break;
          case BALEEN_X_INDEX: value = static_cast<double>(places.coordinate(i.a, local[i.a], launch.micro)); break;
          case BALEEN_X_STEP: value = static_cast<double>(launch.step); break;
          case BALEEN_X_UNIFORM:
          case BALEEN_X_NORMAL: {
            const std::uint64_t site = i.a | std::uint64_t{i.b} << 32;
            value = random_value(i.opcode == BALEEN_X_NORMAL, launch.seed ^ site, places.element(local, launch.micro),
                                 launch.step);
            break;
          }
          case BALEEN_X_ROUND: value = rounded(values[i.a], static_cast<baleen_dtype_t>(i.b)); break;
          default: {
            const int has = operand_count(i.opcode);
            value = expression_value(i.opcode, values[i.a], has > 1 ? values[i.b] : 0, has > 2 ? values[i.c] : 0);
          }
        }
        values[n] = rounded(value, computed_in);
      }
      for (std::size_t o = 0; o < results.size(); ++o) {
        const RegionOperand& to = operands[inputs + o];
        store(launch.tensors[to.number], to.tensor.dtype, at[inputs + o], values[results[o]]);
      }
    });
  };
  return kernel;
}

/// What a kind takes: whether `holds` is true of the dtype of each operand and result.
template <class Holds>
bool all_dtypes(const RegionOp& op, const Holds& holds) {
  for (std::size_t i = 0; i < op.inputs(); ++i)
    if (!holds(op.in(i).tensor.dtype)) return false;
  for (std::size_t i = 0; i < op.outputs(); ++i)
    if (!holds(op.out(i).tensor.dtype)) return false;
  return true;
}
bool of_one_dtype(const RegionOp& op) {
  const baleen_dtype_t first = op.in(0).tensor.dtype;
  return all_dtypes(op, [&](baleen_dtype_t dtype) { return dtype == first && dtype_size(dtype) > 0; });
}
bool of_numbers(const RegionOp& op) {
  return all_dtypes(
      op, [](baleen_dtype_t dtype) { return dtype_size(dtype) > 0 && dtype != BALEEN_I64 && !is_fp8(dtype); });
}
/// fp64 has no other floating dtype beside it; 8 bits there are none.
bool is_like(baleen_dtype_t dtype, const RegionOperand& first) {
  return is_floating(dtype) && !is_fp8(dtype) && (dtype == BALEEN_F64) == (first.tensor.dtype == BALEEN_F64);
}
bool of_floats(const RegionOp& op) {
  return all_dtypes(op, [first = op.in(0)](baleen_dtype_t dtype) { return is_like(dtype, first); });
}
bool of_floats_and_ids(const RegionOp& op) {
  const RegionOperand x = op.in(0);
  return is_like(x.tensor.dtype, x) && is_like(op.out(0).tensor.dtype, x) && op.out(1).tensor.dtype == BALEEN_I32;
}

/// All other kinds are expanded into these, or become views.
struct Kind {
  std::string_view name;
  bool (*takes)(const RegionOp&);
  Result<Kernel> (*make)(const RegionOp&);
};
constexpr Kind kKinds[] = {{"matmul", of_floats, matmul}, {"pointwise", of_numbers, pointwise},
                           {"reduce", of_floats, reduce}, {"top_k", of_floats_and_ids, top_k},
                           {"copy", of_one_dtype, copy},  {"pad", of_one_dtype, copy}};

/// Null where the device cannot compute the region.
const Kind* find(const baleen_region_t& region) {
  if (region.op_count != 1) return nullptr;
  const RegionOp op(region);
  for (const Kind& kind : kKinds)
    if (kind.name == op.op().kind()) return kind.takes(op) ? &kind : nullptr;
  return nullptr;
}

constexpr std::uint32_t kAlignment = 64;

class Loops {
 public:
  static Result<std::unique_ptr<Loops>> create(const Host& host, const Settings& settings) {
    const auto wanted = static_cast<std::uint64_t>(settings.integer("memory"));
    return std::make_unique<Loops>(host, wanted > 0 ? wanted << 20 : available_memory(std::uint64_t{1} << 30) / 10 * 9);
  }
  Loops(const Host& host, std::uint64_t memory) : host_(host), memory_(memory) {}

  const Host& host() const { return host_; }
  void info(baleen_device_info_t& out) const {
    std::snprintf(out.name, sizeof out.name, "%s", "loops");
    std::snprintf(out.summary, sizeof out.summary, "%s", "plain loops, 1 thread");
    out.memory_bytes = memory_;
    out.private_bytes = std::uint64_t{1} << 20;  // its code, and what kernels hold
    out.threads = 1;
    out.alignment = kAlignment;
  }
  /// No optional powers; compute.h has them. Without `baleen.compute.memory/1`, arenas are memory that the host
  /// reaches.
  const void* query(std::string_view) const { return nullptr; }

  Result<void*> arena_create(baleen_arena_kind_t kind, std::uint64_t bytes) {
    if (kind < BALEEN_ARENA_PRIVATE || kind > BALEEN_ARENA_PINNED)
      return invalid("there is no arena of kind " + std::to_string(kind));
    void* base = nullptr;
    if (bytes <= memory_ - used_) base = ::operator new (bytes, std::align_val_t{kAlignment}, std::nothrow);
    if (!base)
      return Error{BALEEN_NO_MEMORY,
                   "an arena of " + std::to_string(bytes >> 20) + " MiB does not fit beside the " +
                       std::to_string(used_ >> 20) + " MiB that are taken of " + std::to_string(memory_ >> 20) +
                       "; use a smaller batch or raise the option `memory`",
                   {}};
    std::memset(base, 0, bytes);
    used_ += bytes;
    return base;
  }
  void arena_destroy(baleen_arena_kind_t, void* base, std::uint64_t bytes) {
    ::operator delete (base, std::align_val_t{kAlignment});
    used_ -= bytes;
  }

  std::uint32_t supports(const baleen_region_t& region) const { return find(region) ? 1 : 0; }
  Result<baleen_kernel_t> compile(const baleen_region_t& region) {
    const Kind* const kind = find(region);
    if (!kind)
      return unsupported("no kernel for a region that begins with `" +
                         std::string(region.op_count > 0 ? view(op_of(region, 0).kind) : "nothing") + "`");
    const RegionOp op(region);
    Result<Kernel> made = kind->make(op);
    if (!made) return Error{made.error().code, made.error().message, op.name()};
    return give_kernel(std::make_unique<Kernel>(*std::move(made)));
  }
  void release(void* kernel) { delete static_cast<Kernel*>(kernel); }

  /// A stream has nothing to remember: all is done at once, on the caller's thread. So `launch` computes, and what
  /// comes after it on the stream finds it done.
  Status launch(void* kernel, const baleen_launch_t& launch) {
    static_cast<const Kernel*>(kernel)->run(launch);
    return {};
  }
  Result<void*> stream_create() { return static_cast<void*>(this); }
  void stream_destroy(void*) {}
  Status stream_wait(void*, baleen_event_t& event, std::uint64_t value) {
    event_wait(event, value);
    return {};
  }
  Status stream_signal(void*, baleen_event_t& event, std::uint64_t value) {
    event_signal(event, value);
    return {};
  }
  Status synchronize(void*) { return {}; }
  Status copy(void*, void* to, const void* from, std::uint64_t bytes) {
    std::memcpy(to, from, bytes);
    return {};
  }
  Status zero(void*, void* to, std::uint64_t bytes) {
    std::memset(to, 0, bytes);
    return {};
  }

 private:
  Host host_;
  std::uint64_t memory_, used_ = 0;
};

}  // namespace

BALEEN_COMPUTE(Loops);

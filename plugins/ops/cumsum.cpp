/// \file `cumsum`: running sums along a dimension.
#include "baleen/half.hpp"
#include "baleen/op_kind.hpp"

namespace baleen::ops {

using namespace sdk;

namespace {

/// An element as it is added up, and back; 16 bits of either kind.
template <class Stored>
struct Element {
  static auto load(const Stored* x, baleen_dtype_t dtype) {
    if constexpr (sizeof(Stored) == 2)
      return dtype == BALEEN_BF16 ? from_bf16(*x) : from_fp16(*x);
    else
      return *x;
  }
  template <class Sum>
  static void store(Stored* x, baleen_dtype_t dtype, Sum sum) {
    if constexpr (sizeof(Stored) == 2)
      *x = dtype == BALEEN_BF16 ? to_bf16(sum) : to_fp16(sum);
    else
      *x = sum;
  }
};

/// Where the lines along `dim` begin, in the elements of two tensors of one shape.
struct Lines {
  const baleen_tensor_t &x, &y;
  std::uint32_t dim;

  std::uint64_t count() const {
    std::uint64_t lines = 1;
    for (std::uint32_t d = 0; d < x.rank; ++d)
      if (d != dim) lines *= static_cast<std::uint64_t>(x.shape[d]);
    return lines;
  }
  std::pair<std::int64_t, std::int64_t> begin(std::uint64_t line) const {
    std::int64_t in = 0, out = 0;
    for (std::uint32_t d = x.rank; d-- > 0;) {
      if (d == dim) continue;
      const auto at = static_cast<std::int64_t>(line % static_cast<std::uint64_t>(x.shape[d]));
      line /= static_cast<std::uint64_t>(x.shape[d]);
      in += at * x.stride[d];
      out += at * y.stride[d];
    }
    return {in, out};
  }
};

constexpr std::int64_t kBlock = 256;  // threads

template <class In, class Out>
void add_up(const sdk::CpuCall& call, const Lines& lines, bool reverse) {
  const auto* x = static_cast<const In*>(call.input_at(0));
  auto* y = static_cast<Out*>(call.output_at(0));
  const std::int64_t extent = lines.x.shape[lines.dim];
  const std::int64_t in_step = lines.x.stride[lines.dim], out_step = lines.y.stride[lines.dim];
  call.parallel(lines.count(), [&](std::uint64_t line) {
    const auto [in, out] = lines.begin(line);
    decltype(Element<In>::load(x, 0)) sum = 0;
    for (std::int64_t i = 0; i < extent; ++i) {
      const std::int64_t at = reverse ? extent - 1 - i : i;
      sum += Element<In>::load(x + in + at * in_step, lines.x.dtype);
      Element<Out>::store(y + out + at * out_step, lines.y.dtype, sum);
    }
  });
}

/// Operand and result are each fp32 or 16 bits, or both fp64.
void add_up(const sdk::CpuCall& call, const Lines& lines, bool reverse) {
  const bool from_half = dtype_size(lines.x.dtype) == 2, to_half = dtype_size(lines.y.dtype) == 2;
  if (lines.x.dtype == BALEEN_F64)
    add_up<double, double>(call, lines, reverse);
  else if (from_half)
    to_half ? add_up<std::uint16_t, std::uint16_t>(call, lines, reverse)
            : add_up<std::uint16_t, float>(call, lines, reverse);
  else
    to_half ? add_up<float, std::uint16_t>(call, lines, reverse) : add_up<float, float>(call, lines, reverse);
}

/// A power of two: so many threads of a block share a line, each a chunk of it.
std::int64_t threads_of_line(std::int64_t extent) {
  constexpr std::int64_t kEach = 16;
  std::int64_t threads = 1;
  while (threads < kBlock && threads * kEach < extent) threads *= 2;
  return threads;
}

/// A thread adds up its chunk; then it begins with the sum of the chunks before, and stores what it has at each
/// element.
constexpr const char kCudaBody[] = R"(
  const bool is_line = position < kLines;
  const int part = threadIdx.x % kThreads;
  const long long begin = part * kChunk, end = begin + kChunk < kExtent ? begin + kChunk : kExtent;
  Real* sums = (Real*)BALEEN_SHARED_MEMORY();
  Real sum = 0;
  for (long long i = begin; is_line && i < end; ++i) sum += baleen::widen(x[at(i) * kInStep]);
  sums[threadIdx.x] = sum;
  __syncthreads();
  sum = 0;
  for (int before = part; before > 0; --before) sum += sums[threadIdx.x - before];
  for (long long i = begin; is_line && i < end; ++i) {
    sum += baleen::widen(x[at(i) * kInStep]);
    y[at(i) * kOutStep] = baleen::narrow<Out>(sum);
  }
}
)";

class Cumsum : public sdk::OpKind {
 public:
  Cumsum() : OpKind("cumsum", "y[.., i, ..] = the sum of x[.., j, ..] over j <= i (reverse: over j >= i)") {
    operand("x", "any shape");
    result("y", "the shape and dtype of x");
    attribute(BALEEN_RULE_DIMENSION, "dim", "", "along which it sums");
    attribute(BALEEN_RULE_BOOLEAN, "reverse", "false", "from the end");
  }

  Result<std::vector<sdk::ValueType>> infer(const sdk::InferInput& input) override {
    return std::vector{input.type(0)};
  }

  /// dx is the running sum of dy from the other end.
  Result<std::vector<baleen_value_t>> gradient(GraphView& graph, baleen_op_t op,
                                               std::span<const baleen_value_t> cotangents,
                                               std::span<const std::uint8_t>) override {
    const Op self = *graph.op(op);
    AttributeList attributes;
    attributes.integer("dim", self.integer("dim")).integer("reverse", 1 - self.integer("reverse"));
    return std::vector{graph.append("cumsum", {cotangents[0]}, attributes)};
  }

  /// Every dimension may be cut but the one that is summed along.
  sdk::Iteration iteration(GraphView& graph, baleen_op_t op) override {
    const Op self = *graph.op(op);
    const auto dim = static_cast<std::size_t>(self.integer("dim"));
    std::string letters;
    for (std::uint32_t d = 0; d < graph.value(self.inputs()[0]).rank; ++d)
      letters += d == dim ? '.' : static_cast<char>('a' + d);
    return {{letters}, {letters}, {{0}}};
  }

  sdk::Cost cost(GraphView& graph, baleen_op_t op) override {
    const baleen_value_info_t x = graph.value(graph.op(op)->inputs()[0]);
    double elements = 1;
    for (std::uint32_t d = 0; d < x.rank; ++d) elements *= static_cast<double>(x.shape[d]);
    return {elements, 2 * elements * static_cast<double>(dtype_size(x.dtype))};
  }

  Status compute(const sdk::CpuCall& call) override {
    const Lines lines{call.input(0), call.output(0), static_cast<std::uint32_t>(call.op().integer("dim"))};
    add_up(call, lines, call.op().integer("reverse") != 0);
    return {};
  }

  Result<sdk::CudaText> cuda(const sdk::CudaRequest& request) override {
    const Lines lines{request.input(0), request.output(0), static_cast<std::uint32_t>(request.op().integer("dim"))};
    const std::int64_t extent = lines.x.shape[lines.dim], threads = threads_of_line(extent);
    const auto in_block = static_cast<std::uint64_t>(kBlock / threads);
    const bool is_double = lines.x.dtype == BALEEN_F64;
    const auto number = [](const char* name, std::int64_t value) {
      return std::string("constexpr long long ") + name + " = " + std::to_string(value) + ";\n";
    };
    sdk::CudaText text;
    text.entry = "cumsum";
    text.threads = kBlock;
    text.shared_bytes = kBlock * (is_double ? sizeof(double) : sizeof(float));
    text.blocks[0] = extent > 0 ? (lines.count() + in_block - 1) / in_block : 0;
    text.source = std::string("typedef ") + (is_double ? "double" : "float") + " Real;\ntypedef " +
                  sdk::cuda_type(lines.y.dtype) + " Out;\n" +
                  number("kLines", static_cast<std::int64_t>(lines.count())) + number("kThreads", threads) +
                  number("kExtent", extent) + number("kChunk", (extent + threads - 1) / threads) +
                  number("kInStep", lines.x.stride[lines.dim]) + number("kOutStep", lines.y.stride[lines.dim]) +
                  "static __device__ long long at(long long i) { return " +
                  (request.op().integer("reverse") != 0 ? "kExtent - 1 - i" : "i") +
                  "; }\nBALEEN_KERNEL(256, cumsum, baleen::Args) {\n"
                  "  const long long position = ((long long)blockIdx.x * 256 + threadIdx.x) / kThreads;\n" +
                  sdk::cuda_coordinates(lines.x, lines.dim) + "  const auto* x = " + request.input_at(0) + " + (" +
                  sdk::cuda_offset(lines.x, lines.dim) + ");\n  auto* y = " + request.output_at(0) + " + (" +
                  sdk::cuda_offset(lines.y, lines.dim) + ");\n" + kCudaBody;
    return text;
  }

  /// y[i] = the sum over j of (j <= i ? x[j] : 0), for devices that have no kernel of their own.
  Result<std::vector<baleen_value_t>> expand(GraphView& graph, baleen_op_t op) override {
    const Op self = *graph.op(op);
    const baleen_value_t x = self.inputs()[0];
    const auto dim = static_cast<std::uint32_t>(self.integer("dim"));
    const bool reverse = self.integer("reverse") != 0;
    const baleen_value_info_t info = graph.value(x);
    if (info.rank == BALEEN_MAX_RANK)
      return unsupported("cumsum: a device without a kernel of its own needs one dimension more than the " +
                         std::to_string(BALEEN_MAX_RANK) + " that x has");
    std::vector<std::int64_t> once(info.shape, info.shape + info.rank), pairs = once;
    once.insert(once.begin() + dim, 1);
    pairs.insert(pairs.begin() + dim, info.shape[dim]);
    const baleen_value_t terms = graph.append("reshape", {x}, AttributeList().integers("shape", once));
    const std::uint32_t i = 0, j = 1, zero = 4;
    AttributeList chosen;
    chosen.expression("expression", {{BALEEN_X_INDEX, dim, 0, 0, 0},
                                     {BALEEN_X_INDEX, dim + 1, 0, 0, 0},
                                     {BALEEN_X_LE, reverse ? i : j, reverse ? j : i, 0, 0},
                                     {BALEEN_X_INPUT, 0, 0, 0, 0},
                                     {BALEEN_X_CONSTANT, 0, 0, 0, 0},
                                     {BALEEN_X_SELECT, 2, 3, zero, 0}});
    chosen.integer("results", 5).integers("shape", pairs);
    AttributeList sum;
    sum.text("kind", "sum").integer("dims", dim + 1).integer("keep", 0);
    return std::vector{graph.append("reduce", {graph.append("pointwise", {terms}, chosen)}, sum)};
  }
};

BALEEN_OP_KIND(Cumsum);

}  // namespace
}  // namespace baleen::ops

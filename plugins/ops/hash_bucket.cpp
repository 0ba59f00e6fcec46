/// \file `hash_bucket`: ids of 64 bits as rows of a table of any size.
#include "baleen/op_kind.hpp"
#include "baleen/op_rules.hpp"

namespace baleen::ops {

using namespace sdk;

namespace {

constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio

/// What is added to each id: a seed gives another table of the same ids.
std::uint64_t offset_of(std::int64_t seed) { return (static_cast<std::uint64_t>(seed) + 1) * kGamma; }

/// The finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014;
/// constants of Stafford's variant 13) over id + (seed + 1) kGamma, then its upper 32 bits times `buckets` over 2^32
/// (Lemire, "Fast random integer generation in an interval", 2019). An id of 32 bits is first widened with its sign.
std::int32_t bucket_of(std::int64_t id, std::uint64_t offset, std::uint64_t buckets) {
  std::uint64_t z = static_cast<std::uint64_t>(id) + offset;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  return static_cast<std::int32_t>((z >> 32) * buckets >> 32);
}

/// The same in CUDA.
constexpr const char kCudaBucket[] = R"(
static __device__ int bucket_of(long long id) {
  unsigned long long z = (unsigned long long)id + kOffset;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  z ^= z >> 31;
  return (int)((z >> 32) * kBuckets >> 32);
}
)";

std::uint64_t elements_of(const baleen_tensor_t& tensor) {
  return static_cast<std::uint64_t>(elements(std::span(tensor.shape, tensor.rank)));
}

/// The elements of a row (the last dimension) of `ids`, wherever they lie.
template <class Id>
void fill_row(const CpuCall& call, std::uint64_t row) {
  const baleen_tensor_t &ids = call.input(0), &y = call.output(0);
  const std::uint32_t last = ids.rank > 0 ? ids.rank - 1 : 0;
  std::int64_t in = 0, out = 0;
  for (std::uint32_t d = last; d-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(ids.shape[d]);
    const auto at = static_cast<std::int64_t>(row % extent);
    row /= extent;
    in += at * ids.stride[d];
    out += at * y.stride[d];
  }
  const auto* from = static_cast<const Id*>(call.input_at(0)) + in;
  auto* to = static_cast<std::int32_t*>(call.output_at(0)) + out;
  const std::uint64_t offset = offset_of(call.op().integer("seed"));
  const auto buckets = static_cast<std::uint64_t>(call.op().integer("buckets"));
  const std::int64_t width = ids.rank > 0 ? ids.shape[last] : 1;
  const std::int64_t in_step = ids.rank > 0 ? ids.stride[last] : 0, out_step = ids.rank > 0 ? y.stride[last] : 0;
  for (std::int64_t i = 0; i < width; ++i) to[i * out_step] = bucket_of(from[i * in_step], offset, buckets);
}

class HashBucket : public OpKind {
 public:
  HashBucket() : OpKind("hash_bucket", "a row of a table for each id: equal ids have equal rows, others are spread") {
    operand("ids", "int64 or int32, any shape", 0);
    result("rows", "the shape of ids; int32, 0 to buckets - 1");
    attribute(BALEEN_RULE_INTEGER, "buckets", "", "rows of the table", 1, 0x7fffffff);
    attribute(BALEEN_RULE_INTEGER, "seed", "0", "another spreads the ids in another way");
  }

  Result<Types> infer(const InferInput& input) override {
    const ValueType& ids = input.type(0);
    if (ids.dtype != BALEEN_I64 && ids.dtype != BALEEN_I32)
      return invalid("hash_bucket: ids is " + type_text(ids) + "; it must be int64 or int32");
    return Types{same_but(ids, BALEEN_I32)};
  }

  /// Each element alone: every dimension may be cut.
  Iteration iteration(GraphView& graph, baleen_op_t op) override {
    const std::string all = letters(graph.value(graph.op(op)->inputs()[0]).rank);
    return {{all}, {all}};
  }

  Cost cost(GraphView& graph, baleen_op_t op) override {
    const baleen_value_info_t ids = graph.value(graph.op(op)->inputs()[0]);
    const auto count = static_cast<double>(elements(std::span(ids.shape, ids.rank)));
    return {10 * count, count * static_cast<double>(dtype_size(ids.dtype) + sizeof(std::int32_t))};
  }

  Status compute(const CpuCall& call) override {
    const baleen_tensor_t& ids = call.input(0);
    const std::uint64_t count = elements_of(ids);
    if (count == 0) return {};
    const std::uint64_t rows = ids.rank > 0 ? count / static_cast<std::uint64_t>(ids.shape[ids.rank - 1]) : 1;
    call.parallel(rows, [&](std::uint64_t row) {
      ids.dtype == BALEEN_I64 ? fill_row<std::int64_t>(call, row) : fill_row<std::int32_t>(call, row);
    });
    return {};
  }

  Result<CudaText> cuda(const CudaRequest& request) override {
    const baleen_tensor_t &ids = request.input(0), &y = request.output(0);
    const std::uint64_t count = elements_of(ids);
    CudaText text;
    text.entry = "hash_bucket";
    text.blocks[0] = (count + 255) / 256;
    text.source = "constexpr unsigned long long kOffset = " + std::to_string(offset_of(request.op().integer("seed"))) +
                  "ull, kBuckets = " + std::to_string(request.op().integer("buckets")) + "ull;\n" + kCudaBucket +
                  "BALEEN_KERNEL(256, hash_bucket, baleen::Args) {\n"
                  "  const long long position = blockIdx.x * 256ll + threadIdx.x;\n"
                  "  if (position >= " +
                  std::to_string(count) + "ll) return;\n" + cuda_coordinates(y) + "  " + request.output_at(0) + "[" +
                  cuda_offset(y) + "] = bucket_of(" + request.input_at(0) + "[" + cuda_offset(ids) + "]);\n}\n";
    return text;
  }
};

BALEEN_OP_KIND(HashBucket);

}  // namespace
}  // namespace baleen::ops

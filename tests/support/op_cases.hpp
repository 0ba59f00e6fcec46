/// \file One or more examples of every kind of op, with random shapes and numbers: what rules, expansions and kernels
/// are tested on.
#pragma once
#include <map>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "compiler/graph/graph.hpp"
#include "support/reference_interpreter.hpp"

namespace baleen::test {

/// Adds the kinds that come with Baleen: those of the compiler, and those of layers, which are a plugin's.
Status register_all_ops(OpRegistry& registry);
/// A registry of all these.
const OpRegistry& builtin_ops();

/// What the extents and the numbers of a case are like.
struct CaseManner {
  bool even = false;   ///< extents are 2 or 4, so that every dimension can be cut in two
  bool mixed = false;  ///< sources are fp32, bf16 or fp16, each at random; else fp64
};

/// Declares sources with random numbers in a graph, and ops over them. A failure throws std::runtime_error.
class CaseBuilder {
 public:
  CaseBuilder(Graph& graph, std::uint64_t seed, CaseManner manner = {})
      : graph_(graph), rng_(seed), dtypes_(seed + 1), manner_(manner) {}

  /// A random extent, 1 to 4.
  std::int64_t extent();
  Shape shape(std::size_t rank);
  std::int64_t integer(std::int64_t low, std::int64_t high);  ///< both included

  ValueId normal(const Shape& shape);
  ValueId positive(const Shape& shape);  ///< 0.5 to 2
  ValueId distinct(const Shape& shape);  ///< no two elements closer than 0.5
  ValueId ids(const Shape& shape, std::int64_t low, std::int64_t high, baleen_dtype_t dtype = BALEEN_I32);

  std::vector<ValueId> append(const std::string& kind, std::vector<ValueId> inputs, Attributes attributes = {});
  /// The op under test.
  OpId op(const std::string& kind, std::vector<ValueId> inputs, Attributes attributes = {});

  const std::map<std::string, std::vector<double>>& data() const { return data_; }
  Graph& graph() { return graph_; }
  std::mt19937_64& rng() { return rng_; }

 private:
  ValueId source(const Shape& shape, baleen_dtype_t dtype, std::vector<double> numbers);
  ValueId floats(const Shape& shape, std::vector<double> numbers);

  Graph& graph_;
  std::mt19937_64 rng_, dtypes_;
  CaseManner manner_;
  std::map<std::string, std::vector<double>> data_;
};

struct OpCase {
  std::string name;  ///< begins with the kind's name
  std::function<OpId(CaseBuilder&)> build;
};

const std::vector<OpCase>& op_cases();
/// The kind that a case is of, by its name. Building the case compares: what is of another kind throws.
const OpKind& kind_of(const OpCase& op_case);

inline void PrintTo(const OpCase& op_case, std::ostream* out) { *out << op_case.name; }

/// A case's name for parametrised tests.
template <class Info>
std::string case_name(const Info& info) {
  std::string name;
  for (char c : info.param.name) name += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '_';
  return name + "_" + std::to_string(info.index);
}

/// A case built with a seed, and run. Not movable: the interpreter borrows the graph.
struct BuiltCase {
  Graph graph{&builtin_ops()};
  std::map<std::string, std::vector<double>> data;
  Op op;
  std::map<ValueId, Tensor> values;  ///< of the op's inputs and outputs

  BuiltCase(const OpCase& op_case, std::uint64_t seed, CaseManner manner = {});
  BuiltCase(const BuiltCase&) = delete;
  BuiltCase& operator=(const BuiltCase&) = delete;
};

/// The floating sources of the case.
std::vector<ValueId> floating_sources(const BuiltCase& built);
/// Adds the gradients of `loss` to the graph: one per target, kNone where nothing depends on it.
std::vector<ValueId> add_gradients(Graph& graph, ValueId loss, const std::vector<ValueId>& targets);

/// The largest |a - b| / (1 + |b|), 0 where both are the same infinity; infinite where shapes or NaNs differ.
double difference(const Tensor& a, const Tensor& b);

}  // namespace baleen::test

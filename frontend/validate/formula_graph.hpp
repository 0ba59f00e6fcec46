/// \file A graph that computes what is appended to it at once, in fp64: what optimizers are tried on.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "baleen/graph.h"
#include "baleen/host.h"

namespace baleen::validate {

/// A small dense tensor, row by row.
struct Numbers {
  std::vector<std::int64_t> shape;
  std::vector<double> data;

  std::int64_t size() const;
  bool operator==(const Numbers&) const = default;
};

/// States that a plugin adds to the graph by `add_state`, which stay from step to step.
using States = std::map<std::string, Numbers>;

/// Knows `pointwise` (without random numbers and coordinates), `reduce`, `matmul` and `assign`; any other op is
/// refused as UNSUPPORTED and noted. Results of an fp32 graph are rounded to fp32.
class FormulaGraph {
 public:
  /// `states` is borrowed, and assigned to at once.
  FormulaGraph(const baleen_host_t* host, baleen_dtype_t dtype, States& states);
  FormulaGraph(const FormulaGraph&) = delete;

  const baleen_graph_t* get() const { return &table_; }
  baleen_value_t add(Numbers numbers);
  baleen_value_t add(double scalar) { return add(Numbers{{}, {scalar}}); }
  bool has(baleen_value_t value) const { return value < values_.size(); }
  const Numbers& operator[](baleen_value_t value) const { return values_.at(value); }
  std::size_t appended() const { return appended_; }
  /// The append after this many fails with `kRefusal`.
  void refuse_after(std::size_t count) { limit_ = count; }
  static constexpr const char* kRefusal = "the graph of baleen validate refuses this op";
  /// What it was asked for and does not know; "" if nothing.
  const std::string& unknown() const { return unknown_; }

 private:
  static FormulaGraph& of(void* self) { return *static_cast<FormulaGraph*>(self); }
  static baleen_status_t read_value(void* self, baleen_value_t value, baleen_value_info_t* out);
  static baleen_status_t append(void* self, const baleen_op_view_t* op, baleen_value_t* outputs,
                                std::uint64_t capacity);
  static baleen_status_t add_state(void* self, baleen_string_t name, baleen_dtype_t dtype, std::uint32_t rank,
                                   const std::int64_t* shape, double initial, baleen_value_t* out);
  Numbers computed(const baleen_op_view_t& op);
  void assign(const baleen_op_view_t& op);
  baleen_status_t fail(baleen_status_t status, const std::string& text) const;
  baleen_status_t not_known(const std::string& what);

  const baleen_host_t* host_;
  baleen_dtype_t dtype_;
  States& states_;
  std::map<baleen_value_t, std::string> state_of_;
  std::vector<Numbers> values_;
  std::size_t appended_ = 0, limit_ = static_cast<std::size_t>(-1);
  std::string unknown_;
  baleen_graph_t table_;
};

}  // namespace baleen::validate

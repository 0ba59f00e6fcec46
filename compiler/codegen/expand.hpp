/// \file Adds ops to a lowered program: those that the device lacks are expanded into others.
#pragma once
#include <string>
#include <vector>

#include "compiler/codegen/lowered.hpp"
#include "compiler/codegen/target.hpp"
#include "compiler/layout/piece.hpp"

namespace baleen {

/// Name, type, layout and role that a result gets.
struct ResultSpec {
  Text name;
  ValueType type;  ///< global
  Layout layout;   ///< on the graph's mesh; empty: whole
  Role role = Role::activation;
};

class OpEmitter {
 public:
  /// Borrows both.
  OpEmitter(Lowered& lowered, const Target& target) : lowered_(lowered), target_(target) {}

  Result<LowValue> add_value(const ResultSpec& spec, const std::string& where);

  /// Appends `op` (its inputs numbers of lowered values, without outputs) to a section, or what it expands to.
  Result<std::vector<LowValue>> emit(Op op, const std::vector<ResultSpec>& results, std::uint32_t section,
                                     int depth = 0);

 private:
  Result<std::vector<LowValue>> expand(const Op& op, const std::vector<ResultSpec>& results, std::uint32_t section,
                                       int depth);
  Result<std::vector<LowValue>> import(const Graph& scratch, const Op& original, const std::vector<ValueId>& wanted,
                                       std::uint32_t section, int depth);
  Result<std::vector<Placement>> infer_axis(const Graph& scratch, const Op& op, Ids& inputs, std::size_t axis,
                                            std::uint32_t section);
  Result<LowValue> in_pieces(LowValue number, const Placement& piece, std::size_t axis, std::uint32_t section);
  void set_flat(LoweredValue& value, const Piece& piece) const;
  Status flatten(Op& op) const;
  Placement placement(LowValue value, std::size_t axis) const;
  Error refuse(const Op& op, const std::string& why, const std::vector<ResultSpec>& results = {}) const;

  Lowered& lowered_;
  const Target& target_;
};

}  // namespace baleen

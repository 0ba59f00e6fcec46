/// \file Operands of ops held against the schema of their kind.
#pragma once
#include "baleen/op_types.hpp"
#include "compiler/graph/op_schema.hpp"

namespace baleen {

/// Fails where the operands' number or dtypes are others than the schema says; `kind` is its name.
Status check_operands(const OpSchema& schema, const std::string& kind, const std::vector<sdk::ValueType>& inputs);

/// Fails where an attribute that is a dimension is none of the first operand.
Status check_dimensions(const OpSchema& schema, const std::string& kind, const Attributes& attributes,
                        const std::vector<sdk::ValueType>& inputs);

}  // namespace baleen

/// \file What an op is given, held against the schema of its kind. `kind` is the kind's name, for messages.
#pragma once
#include "baleen/op_types.hpp"
#include "compiler/graph/attributes.hpp"

namespace baleen {

/// Fails where an attribute is unknown, missing, of another type or out of range.
Status check_attributes(const OpSchema& schema, const std::string& kind, const Attributes& attributes);
/// Whether an attribute that has a default is not there.
bool lacks_defaults(const OpSchema& schema, const Attributes& attributes);
/// Fills in defaults, which their own rules allow.
Status fill_in_defaults(const OpSchema& schema, Attributes& attributes);

/// Fails where the operands' number or dtypes are others than the schema says.
Status check_operands(const OpSchema& schema, const std::string& kind, const std::vector<sdk::ValueType>& inputs);

/// Fails where an attribute that is a dimension is none of the first operand.
Status check_dimensions(const OpSchema& schema, const std::string& kind, const Attributes& attributes,
                        const std::vector<sdk::ValueType>& inputs);

}  // namespace baleen

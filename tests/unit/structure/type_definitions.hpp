/// \file Which types a source defines in named namespaces: where two files define one name, the linker takes either.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace baleen::structure {

struct TypeDefinition {
  std::string name;  ///< "baleen::app::Run"
  int line = 0;
};

/// Structs, classes, unions and enumerations that `code` defines at the scope of a namespace of which no part is
/// unnamed. Specialisations of templates and what macros define are left out.
std::vector<TypeDefinition> type_definitions(std::string_view code);

}  // namespace baleen::structure

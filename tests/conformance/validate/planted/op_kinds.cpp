/// \file A library of no kinds of ops, and one that dies when it is asked for them.
#include <cstdlib>

#include "baleen/op_kind.h"
#include "baleen/plugin.hpp"

BALEEN_DESCRIPTOR("op", PLANTED_NAME, "1.0.0", "Apache-2.0", "Gives no kind", 0, "", BALEEN_NO_OPTIONS);

namespace {

baleen_ops_t no_kinds() {
  return {sizeof(baleen_ops_t), [](uint64_t) -> const baleen_op_kind_t* {
            if (DIES) std::abort();
            return nullptr;
          }};
}

}  // namespace

BALEEN_EXPORT_TABLE(no_kinds());

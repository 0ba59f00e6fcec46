/// \file The library of op kinds that come with Baleen: each other source of this folder brings one.
#include "baleen/op_kind.hpp"

BALEEN_DESCRIPTOR("op", "standard", "0.1.0", "Apache-2.0", "op kinds that come with Baleen", 0, "", BALEEN_NO_OPTIONS);

BALEEN_OPS();

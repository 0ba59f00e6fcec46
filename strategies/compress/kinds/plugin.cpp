/// \file The library's descriptor and start: kinds of ops that the strategy `compress` appends.
#include "baleen/op_kind.hpp"

BALEEN_DESCRIPTOR("op", "compress", "1.0.0", "Apache-2.0",
                  "What gradients are compressed by: quantise, dequantise, orthonormal", 0, "", BALEEN_NO_OPTIONS);
BALEEN_OPS();

/// \file The most floating-point operations this machine does in a second, measured beside the op.
#pragma once

namespace baleen::bench {

/// Does fp32 multiply-adds on `threads` threads for some milliseconds.
void fma_run(int threads);
/// How many floating-point operations one such call does.
double fma_work(int threads);

}  // namespace baleen::bench

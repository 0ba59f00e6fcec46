/// \file Enqueues kernels.
#include "kernel.hpp"

namespace baleen::cuda {

Status Launch::enqueue(CUfunction function, const Geometry& geometry, const void* args) const {
  if (geometry.empty()) return {};
  void* parameters[] = {const_cast<void*>(args)};  // the driver copies; its interface is not const
  const CUresult result =
      driver.cuLaunchKernel(function, static_cast<unsigned>(geometry.blocks), static_cast<unsigned>(geometry.blocks_y),
                            static_cast<unsigned>(geometry.blocks_z), geometry.threads, 1, 1,
                            static_cast<unsigned>(geometry.shared_bytes), stream, parameters, nullptr);
  return driver.check(result, "launching a kernel");
}

// The node just captured is the one that whatever comes next on the stream depends on.
void Launch::note(CUfunction function, const Geometry& geometry, std::span<const std::byte> args, std::size_t seed,
                  std::size_t step) const {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  const CUresult result = driver.cuStreamGetCaptureInfo(stream, &status, nullptr, &graph, &nodes, &edges, &count);
  if (result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 1)
    recording->varying.push_back({nodes[0], function, geometry, {args.begin(), args.end()}, seed, step});
  else if (recording->failure)
    recording->failure = unsupported("a kept launch is not found again");
}

}  // namespace baleen::cuda

/// \file Between the device's stream and the transport's nobody of the host takes part.
#include <cuda.h>
#include <dlfcn.h>

#include "nccl_run.hpp"

namespace baleen::conformance {
namespace {

void* driver_symbol(const char* name) {
  void* driver = dlopen((test::emulated_folder() + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
  return dlsym(driver, name);
}
void hold_host_functions(int held) {
  reinterpret_cast<void (*)(int)>(driver_symbol("baleen_emulated_hold_host_functions"))(held);
}

/// While the driver runs no host function no counter rises; the streams go on all the same.
TEST(NcclOrder, IsKeptByTheDeviceAlone) {
  EXPECT_EQ(run_nccl(2,
                     [](Rank& rank) {
                       constexpr std::uint64_t kCount = 1000, kBytes = kCount * sizeof(float);
                       test::EmulatedDevice& device = test::device_of(rank.get());
                       const baleen_compute_t& table = device.table();
                       void *memory = nullptr, *stream = nullptr, *native = nullptr;
                       expect(table.arena_create(device.get(), BALEEN_ARENA_SHARED, kBytes, &memory) == BALEEN_OK,
                              "arena");
                       expect(table.stream_create(device.get(), &stream) == BALEEN_OK, "stream");
                       device.events().native_stream(device.get(), stream, &native);
                       rank.table.register_arena(rank.get(), memory, kBytes);
                       void* world = rank.world();
                       auto* const values = static_cast<float*>(memory);
                       const OneBuffer one(BALEEN_ALL_REDUCE, values, values, kCount, rank);
                       void* slot = rank.prepare(world, one.spec);
                       std::vector<float> in(kCount, static_cast<float>(rank.rank + 1)), out(kCount);
                       baleen_event_t ready{sizeof ready, 0, 0, nullptr}, done{sizeof done, 0, 0, nullptr};
                       hold_host_functions(1);
                       table.copy(device.get(), stream, memory, in.data(), kBytes);
                       for (std::uint64_t round = 1; round <= 3; ++round) {
                         table.stream_signal(device.get(), stream, &ready, round);
                         rank.start(slot, &ready, round, &done, round);
                         table.stream_wait(device.get(), stream, &done, round);
                       }
                       table.copy(device.get(), stream, out.data(), memory, kBytes);
                       const auto wait =
                           reinterpret_cast<decltype(&cuStreamSynchronize)>(driver_symbol("cuStreamSynchronize"));
                       expect(wait(static_cast<CUstream>(native)) == CUDA_SUCCESS, "the stream fails");
                       const std::uint64_t seen = event_value(done);
                       hold_host_functions(0);
                       expect(out == std::vector<float>(kCount, 12), "three rounds of 1 + 2 are 12");
                       expect(seen == 0, "a counter has risen: the host took part");
                       rank.finish(done, 3);
                       table.stream_destroy(device.get(), stream);
                       rank.table.unregister_arena(rank.get(), memory);
                       table.arena_destroy(device.get(), BALEEN_ARENA_SHARED, memory, kBytes);
                     }),
            "");
}

}  // namespace
}  // namespace baleen::conformance

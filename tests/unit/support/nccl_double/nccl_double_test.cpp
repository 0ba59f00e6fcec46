/// \file The double refuses, and names, what NCCL would refuse, hang at, or silently do wrong.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "library.hpp"
#include "support/places.hpp"
#include "support/ranks.hpp"

namespace baleen::nccl {
namespace {

using test::expect;

const Functions& api() {
  static const Functions table = [] {
    setenv("EMULATED_CUDA_DEVICES", "8", 1);
    return *open_nccl(test::emulated_folder() + "/libnccl.so.2");
  }();
  return table;
}

template <class Function>
Function* driver(const char* name) {
  static void* const library = dlopen((test::emulated_folder() + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function*>(dlsym(library, name));
}
#define DRIVER(name) driver<decltype(name)>(#name)

/// A rank on a thread of its own: a device, a stream, memory of it, and a communicator.
class Member {
 public:
  Member(const UniqueId& id, int ranks, int rank, int device) {
    CUcontext context = nullptr;
    DRIVER(cuDevicePrimaryCtxRetain)(&context, device);
    DRIVER(cuCtxSetCurrent)(context);
    DRIVER(cuStreamCreate)(&stream_, CU_STREAM_NON_BLOCKING);
    driver<CUresult(CUdeviceptr*, std::size_t)>("cuMemAlloc_v2")(&memory_, kFloats * sizeof(float));
    driver<CUresult(CUdeviceptr, unsigned char, std::size_t, CUstream)>("cuMemsetD8Async")(
        memory_, 0, kFloats * sizeof(float), stream_);
    Config config;
    config.blocking = 0;
    made = api().ncclCommInitRankConfig(&comm, ranks, id, rank, &config);
  }
  ~Member() {
    if (comm) api().ncclCommAbort(comm);
    DRIVER(cuStreamSynchronize)(stream_);
    driver<CUresult(CUstream)>("cuStreamDestroy_v2")(stream_);
    driver<CUresult(CUdeviceptr)>("cuMemFree_v2")(memory_);
  }
  Member(const Member&) = delete;

  Code state() const {
    Code code = kSuccess;
    expect(api().ncclCommGetAsyncError(comm, &code) == kSuccess, "the state is not told");
    return code;
  }
  /// Asks until it is no more in progress.
  Code settled() const {
    Code code = kInProgress;
    while ((code = state()) == kInProgress) std::this_thread::yield();
    return code;
  }
  /// Until there is an error, though not for ever.
  Code error() const {
    Code code = kSuccess;
    for (int ticks = 0; ticks < 20'000 && (code == kSuccess || code == kInProgress); ++ticks) {
      code = state();
      usleep(1000);
    }
    return code;
  }
  Code all_reduce(std::size_t count, DataType type = kFloat32) const {
    return api().ncclAllReduce(data(), data(), count, type, kSum, comm, stream_);
  }
  void* data() const { return reinterpret_cast<void*>(memory_); }
  void* stream() const { return stream_; }
  void finish() const { DRIVER(cuStreamSynchronize)(stream_); }
  std::string last_error() const { return api().ncclGetLastError(comm); }

  Comm comm = nullptr;
  Code made = kSuccess;

 private:
  static constexpr std::size_t kFloats = 4096;
  CUstream stream_ = nullptr;
  CUdeviceptr memory_ = 0;
};

/// Ranks as threads; what went wrong.
std::string on_ranks(int ranks, const std::function<void(Member&, int rank)>& body, bool one_device = false) {
  UniqueId id{};
  api().ncclGetUniqueId(&id);
  return test::run_bodies(test::As::kThreads, ranks, [&](std::int32_t rank) {
    Member member(id, ranks, rank, one_device ? 0 : rank);
    body(member, rank);
  });
}

TEST(NcclDouble, SaysWhatItIs) {
  ASSERT_NE(api().label, nullptr);
  EXPECT_NE(std::string(api().label()).find("test double"), std::string::npos);
}

TEST(NcclDouble, NamesRanksThatCallSomethingElse) {
  EXPECT_EQ(on_ranks(2,
                     [](Member& member, int rank) {
                       expect(member.settled() == kSuccess, "no communicator");
                       const Code called = rank == 0 ? member.all_reduce(10)
                                                     : api().ncclBroadcast(member.data(), member.data(), 12, kFloat32,
                                                                           0, member.comm, member.stream());
                       expect(called == kInProgress, "refused at once");
                       expect(member.error() == kInvalidUsage, "it was not noticed");
                       expect(member.last_error() ==
                                  "rank 1 calls ncclBroadcast of 12 of type 7, root 0 where rank 0 "
                                  "calls ncclAllReduce of 10 of type 7, op 0",
                              member.last_error());
                     }),
            "");
}

TEST(NcclDouble, NamesMessagesThatDoNotFit) {
  EXPECT_EQ(on_ranks(2,
                     [](Member& member, int rank) {
                       expect(member.settled() == kSuccess, "no communicator");
                       if (rank == 0)
                         api().ncclSend(member.data(), 3, kFloat32, 1, member.comm, member.stream());
                       else
                         api().ncclRecv(member.data(), 4, kFloat32, 0, member.comm, member.stream());
                       if (rank == 0) {
                         expect(member.settled() == kSuccess, "not enqueued");
                         usleep(100'000);  // the receiver reads, and complains
                         return;
                       }
                       expect(member.error() == kInvalidUsage, "it was not noticed");
                       test::expect_contains(member.last_error(),
                                             "rank 0 sends 12 bytes of type 7 where rank 1 receives 16");
                     }),
            "");
}

TEST(NcclDouble, RefusesACallWhileTheLastIsInProgress) {
  EXPECT_EQ(on_ranks(1,
                     [](Member& member, int) {
                       expect(member.made == kInProgress, "it blocks");
                       expect(member.settled() == kSuccess, "no communicator");
                       expect(member.all_reduce(4) == kInProgress, "it blocks");
                       expect(member.all_reduce(4) == kInvalidUsage, "a second call before the first was asked for");
                       test::expect_contains(member.last_error(), "still in progress");
                       expect(member.settled() == kSuccess, "the first call");
                     }),
            "");
}

TEST(NcclDouble, KeepsTheRulesOfGroups) {
  EXPECT_EQ(api().ncclGroupEnd(), kInvalidUsage);
  EXPECT_EQ(on_ranks(1,
                     [](Member& member, int) {
                       expect(member.settled() == kSuccess, "no communicator");
                       api().ncclGroupStart();
                       api().ncclGroupStart();
                       expect(member.all_reduce(4) == kSuccess, "a call in a group");
                       expect(api().ncclGroupEnd() == kSuccess, "the inner end does nothing");
                       expect(member.all_reduce(5) == kSuccess, "another call in the group");
                       expect(api().ncclGroupEnd() == kInProgress, "the outer end hands over");
                       expect(member.settled() == kSuccess, "both calls");
                       api().ncclGroupStart();
                       expect(member.all_reduce(4, static_cast<DataType>(99)) == kInvalidArgument, "no such type");
                       expect(api().ncclGroupEnd() == kInvalidArgument, "a group with a call that was refused");
                     }),
            "");
}

TEST(NcclDouble, RefusesWrongArguments) {
  EXPECT_EQ(on_ranks(1,
                     [](Member& member, int) {
                       expect(member.settled() == kSuccess, "no communicator");
                       const auto refused = [&](Code code, const std::string& what) {
                         expect(code == kInvalidArgument || code == kInvalidUsage, what);
                       };
                       void *data = member.data(), *stream = member.stream();
                       refused(api().ncclAllReduce(nullptr, data, 4, kFloat32, kSum, member.comm, stream), "no buffer");
                       refused(api().ncclReduce(data, data, 4, kFloat32, kSum, 3, member.comm, stream), "no such root");
                       refused(api().ncclSend(data, 4, kFloat32, -1, member.comm, stream), "no such peer");
                       refused(api().ncclAllReduce(data, data, 4, kFloat32, kSum, member.comm, nullptr), "no stream");
                       refused(api().ncclAllReduce(data, data, 4, kFloat32, kSum, nullptr, stream), "no communicator");
                       Config config;
                       config.magic = 7;
                       Comm comm = nullptr;
                       refused(api().ncclCommInitRankConfig(&comm, 1, UniqueId{}, 0, &config), "no configuration");
                     }),
            "");
}

/// Memory of NCCL's on a member's device.
class OwnMemory {
 public:
  explicit OwnMemory(std::size_t bytes) { expect(api().ncclMemAlloc(&at, bytes) == kSuccess, "no memory"); }
  ~OwnMemory() { api().ncclMemFree(at); }
  OwnMemory(const OwnMemory&) = delete;

  void* at = nullptr;
};

/// One that is there; null where it failed.
Window window_of(const Member& member, void* memory, std::size_t bytes) {
  Window window = nullptr;
  expect(api().ncclCommWindowRegister(member.comm, memory, bytes, &window, kSymmetric) == kSuccess, "it is refused");
  return member.settled() == kSuccess ? window : nullptr;
}

TEST(NcclDouble, HasAWindowOnlyWhenAskedForItsState) {
  EXPECT_EQ(on_ranks(2,
                     [](Member& member, int rank) {
                       expect(member.settled() == kSuccess, "no communicator");
                       const OwnMemory memory(8192);
                       Window window = nullptr;
                       if (rank == 1) usleep(50'000);
                       expect(
                           api().ncclCommWindowRegister(member.comm, memory.at, 8192, &window, kSymmetric) == kSuccess,
                           "it is refused");
                       if (rank == 0) expect(!window, "it is there before the other member's");
                       expect(member.settled() == kSuccess && window, "no window");
                       expect(api().ncclMemFree(memory.at) == kInvalidUsage, "freed while it is a window");
                       expect(api().ncclCommWindowDeregister(member.comm, window) == kSuccess, "it does not end");
                       expect(api().ncclCommWindowDeregister(member.comm, window) == kInvalidArgument, "it ends twice");
                     }),
            "");
}

TEST(NcclDouble, NamesWindowsOfDifferentSizes) {
  EXPECT_EQ(
      on_ranks(2,
               [](Member& member, int rank) {
                 expect(member.settled() == kSuccess, "no communicator");
                 const OwnMemory memory(16384);
                 const std::size_t bytes = rank == 0 ? 8192 : 16384;
                 expect(!window_of(member, memory.at, bytes), "it is a window");
                 expect(member.last_error() == "rank 1 shares a window of 16384 bytes where rank 0 shares one of 8192",
                        member.last_error());
                 api().ncclCommAbort(std::exchange(member.comm, nullptr));
               }),
      "");
}

TEST(NcclDouble, RefusesMemoryThatIsNoWindow) {
  EXPECT_EQ(on_ranks(1,
                     [](Member& member, int) {
                       expect(member.settled() == kSuccess, "no communicator");
                       const OwnMemory memory(8192);
                       Window window = nullptr;
                       const auto made = [&](void* at, std::size_t bytes, int flags) {
                         return api().ncclCommWindowRegister(member.comm, at, bytes, &window, flags);
                       };
                       expect(made(member.data(), 4096, kSymmetric) == kInvalidArgument, "not from ncclMemAlloc");
                       test::expect_contains(member.last_error(), "not from ncclMemAlloc");
                       expect(made(memory.at, 16384, kSymmetric) == kInvalidArgument, "more than there is");
                       expect(made(memory.at, 0, kSymmetric) == kInvalidArgument, "no bytes");
                       expect(made(memory.at, 8192, 64) == kInvalidArgument, "no such flags");
                       const Window first = window_of(member, memory.at, 8192);
                       expect(first, "no window");
                       expect(made(memory.at, 8192, kSymmetric) == kInvalidUsage, "twice");
                       expect(api().ncclMemFree(member.data()) == kInvalidArgument, "frees what is another's");
                       void* handle = nullptr;
                       expect(api().ncclCommWindowDeregister(member.comm, first) == kSuccess, "it does not end");
                       expect(api().ncclCommRegister(member.comm, memory.at, 8192, &handle) == kSuccess, "no handle");
                       expect(api().ncclMemFree(memory.at) == kInvalidUsage, "freed while it is registered");
                       expect(api().ncclCommDeregister(member.comm, handle) == kSuccess, "it does not end");
                     }),
            "");
}

TEST(NcclDouble, NamesOffsetsInWindowsThatDiffer) {
  EXPECT_EQ(on_ranks(2,
                     [](Member& member, int rank) {
                       expect(member.settled() == kSuccess, "no communicator");
                       const OwnMemory memory(8192);
                       expect(window_of(member, memory.at, 8192), "no window");
                       auto* const at = static_cast<char*>(memory.at) + (rank == 1 ? 64 : 0);
                       expect(api().ncclAllReduce(at, at, 4, kInt32, kSum, member.comm, member.stream()) == kInProgress,
                              "refused at once");
                       expect(member.error() == kInvalidUsage, "it was not noticed");
                       test::expect_contains(member.last_error(), "window 0 at 64");
                       api().ncclCommAbort(std::exchange(member.comm, nullptr));
                       member.finish();
                     }),
            "");
}

/// What is left of a communicator goes with it.
TEST(NcclDouble, LetsWindowsGoWithTheirCommunicator) {
  EXPECT_EQ(on_ranks(1,
                     [](Member& member, int) {
                       expect(member.settled() == kSuccess, "no communicator");
                       const OwnMemory memory(8192);
                       expect(window_of(member, memory.at, 8192), "no window");
                       api().ncclCommAbort(std::exchange(member.comm, nullptr));
                       void* other = nullptr;
                       expect(api().ncclMemAlloc(&other, 64) == kSuccess && api().ncclMemFree(other) == kSuccess, "no");
                       expect(api().ncclMemFree(std::exchange(const_cast<void*&>(memory.at), nullptr)) == kSuccess,
                              "it is still held");
                     }),
            "");
}

TEST(NcclDouble, RefusesPoliciesThatItsVersionLacks) {
  setenv("NCCL_DOUBLE_VERSION", "22707", 1);
  const std::string failures = on_ranks(1, [](Member&, int) {
    UniqueId id{};
    api().ncclGetUniqueId(&id);
    Config config;
    config.blocking = 0;
    config.size = sizeof config;
    config.version = 22800;
    config.cta_policy = kPolicyZero;
    Comm comm = nullptr;
    expect(api().ncclCommInitRankConfig(&comm, 1, id, 0, &config) == kInvalidArgument, "it is accepted");
  });
  unsetenv("NCCL_DOUBLE_VERSION");
  EXPECT_EQ(failures, "");
}

TEST(NcclDouble, EndsWhatWaitsForOthersWhenItIsAborted) {
  EXPECT_EQ(on_ranks(2,
                     [](Member& member, int rank) {
                       expect(member.settled() == kSuccess, "no communicator");
                       if (rank == 1) return;  // never comes
                       member.all_reduce(4);
                       expect(member.settled() == kSuccess, "not enqueued");
                       expect(api().ncclCommAbort(std::exchange(member.comm, nullptr)) == kSuccess, "no abort");
                       member.finish();
                     }),
            "");
}

TEST(NcclDouble, RefusesTwoRanksOnOneDevice) {
  EXPECT_EQ(on_ranks(
                2,
                [](Member& member, int) {
                  expect(member.error() == kInvalidUsage, "it was accepted");
                  test::expect_contains(member.last_error(), "Duplicate GPU detected");
                },
                true),
            "");
}

}  // namespace
}  // namespace baleen::nccl

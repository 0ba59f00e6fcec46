/// \file What this plugin uses of NCCL, declared by ourselves: it is built where there is no nccl.h, and one binary
/// runs with every NCCL from 2.18 on. `header_check.cpp` compares all of it with nccl.h where there is one.
#pragma once
#include <climits>
#include <cstddef>
#include <cstdint>

namespace baleen::nccl {

/// ncclComm_t, and cudaStream_t, which is the driver's CUstream.
using Comm = struct ncclComm*;
using StreamHandle = void*;

/// ncclResult_t.
enum Code : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7
};

/// ncclDataType_t.
enum DataType : int {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9
};

/// ncclRedOp_t.
enum RedOp : int { kSum = 0, kProd = 1, kMax = 2, kMin = 3, kAvg = 4 };

/// ncclUniqueId, which is passed by value.
struct UniqueId {
  char internal[128];
};

/// ncclWindow_t.
using Window = void*;

/// NCCL_WIN_COLL_SYMMETRIC: a collective on the window has the same offset in it on every member.
constexpr int kSymmetric = 1;
/// NCCL_CTA_POLICY_ZERO: no multiprocessors where the copy engines can do it.
constexpr int kPolicyZero = 2;

/// From which versions on NCCL has what is not in all of them.
constexpr int kMemorySince = 21900, kWindowsSince = 22700, kCopyEnginesSince = 22800;

/// ncclConfig_t as far as NCCL 2.28 goes. Its size and version tell NCCL which members are there; it takes its own
/// defaults for the others. As it is made, it is 2.18's.
struct Config {
  static constexpr std::size_t kSizeIn218 = 48;

  std::size_t size = kSizeIn218;
  unsigned magic = 0xcafebeef;
  unsigned version = 21800;
  int blocking = INT_MIN;
  int cga_cluster_size = INT_MIN;
  int min_ctas = INT_MIN;
  int max_ctas = INT_MIN;
  const char* net_name = nullptr;
  int split_share = INT_MIN;
  int traffic_class = INT_MIN;
  const char* comm_name = nullptr;
  int collnet_enable = INT_MIN;
  int cta_policy = INT_MIN;
  int shrink_share = INT_MIN;
  int nvls_ctas = INT_MIN;
  int channels_per_net_peer = INT_MIN;
  int nvlink_centric_sched = INT_MIN;
};

// By hand: clang-format would make stairs of the lists.
// clang-format off
/// X(name, result, arguments): what every NCCL from 2.18 on has.
#define BALEEN_NCCL_FUNCTIONS(X) \
  X(ncclGetVersion, Code, (int*)) \
  X(ncclGetUniqueId, Code, (UniqueId*)) \
  X(ncclCommInitRankConfig, Code, (Comm*, int, UniqueId, int, Config*)) \
  X(ncclCommFinalize, Code, (Comm)) \
  X(ncclCommDestroy, Code, (Comm)) \
  X(ncclCommAbort, Code, (Comm)) \
  X(ncclCommGetAsyncError, Code, (Comm, Code*)) \
  X(ncclGetErrorString, const char*, (Code)) \
  X(ncclGetLastError, const char*, (Comm)) \
  X(ncclGroupStart, Code, ()) \
  X(ncclGroupEnd, Code, ()) \
  X(ncclAllReduce, Code, (const void*, void*, std::size_t, DataType, RedOp, Comm, StreamHandle)) \
  X(ncclReduceScatter, Code, (const void*, void*, std::size_t, DataType, RedOp, Comm, StreamHandle)) \
  X(ncclAllGather, Code, (const void*, void*, std::size_t, DataType, Comm, StreamHandle)) \
  X(ncclBroadcast, Code, (const void*, void*, std::size_t, DataType, int, Comm, StreamHandle)) \
  X(ncclReduce, Code, (const void*, void*, std::size_t, DataType, RedOp, int, Comm, StreamHandle)) \
  X(ncclSend, Code, (const void*, std::size_t, DataType, int, Comm, StreamHandle)) \
  X(ncclRecv, Code, (void*, std::size_t, DataType, int, Comm, StreamHandle))
/// Null in a version before the named one.
#define BALEEN_NCCL_FUNCTIONS_SINCE_219(X) \
  X(ncclCommRegister, Code, (Comm, void*, std::size_t, void**)) \
  X(ncclCommDeregister, Code, (Comm, void*)) \
  X(ncclMemAlloc, Code, (void**, std::size_t)) \
  X(ncclMemFree, Code, (void*))
#define BALEEN_NCCL_FUNCTIONS_SINCE_227(X) \
  X(ncclCommWindowRegister, Code, (Comm, void*, std::size_t, Window*, int)) \
  X(ncclCommWindowDeregister, Code, (Comm, Window))
#define BALEEN_NCCL_FUNCTIONS_SINCE_228(X) \
  X(ncclAlltoAll, Code, (const void*, void*, std::size_t, DataType, Comm, StreamHandle))
// clang-format on

/// The functions in use.
struct Functions {
#define BALEEN_NCCL_MEMBER(name, result, arguments) result(*name) arguments = nullptr;
  BALEEN_NCCL_FUNCTIONS(BALEEN_NCCL_MEMBER)
  BALEEN_NCCL_FUNCTIONS_SINCE_219(BALEEN_NCCL_MEMBER)
  BALEEN_NCCL_FUNCTIONS_SINCE_227(BALEEN_NCCL_MEMBER)
  BALEEN_NCCL_FUNCTIONS_SINCE_228(BALEEN_NCCL_MEMBER)
#undef BALEEN_NCCL_MEMBER
  bool can_register() const { return ncclCommRegister && ncclCommDeregister; }
  bool has_memory() const { return ncclMemAlloc && ncclMemFree; }
  bool has_windows() const { return has_memory() && ncclCommWindowRegister && ncclCommWindowDeregister; }
  bool has_copy_engines() const { return has_windows() && ncclAlltoAll; }
  /// What a stand-in for tests says of itself; null in NCCL.
  const char* (*label)() = nullptr;
  int version = 0;  ///< as NCCL_VERSION_CODE: 22809 is 2.28.9
};

/// The oldest that will do: ncclCommInitRankConfig with limits of channels and non-blocking calls as they are today.
constexpr int kOldestVersion = 21800;

}  // namespace baleen::nccl

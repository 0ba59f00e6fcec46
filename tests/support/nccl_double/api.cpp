/// \file The functions of nccl.h that Baleen calls, with the checks that NCCL makes, and some that it does not.
#include <cuda.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "handles.hpp"

extern "C" int baleen_emulated_parked_streams(int device);

namespace em = baleen::nccl_double;
using namespace baleen::nccl;
using em::find, em::refuse, em::current_device, em::Op;

namespace {

/// Handles that are valid.
struct Known {
  std::mutex mutex;
  std::map<Comm, std::shared_ptr<em::Communicator>> all;
};
Known& known() {
  static Known& one = *new Known;
  return one;
}
/// The communicator ends.
std::shared_ptr<em::Communicator> forget(Comm comm) {
  std::shared_ptr<em::Communicator> one;
  {
    const std::lock_guard lock(known().mutex);
    const auto found = known().all.find(comm);
    if (found == known().all.end()) return nullptr;
    one = std::move(found->second);
    known().all.erase(found);
  }
  one->abort();
  while (one->holders > 0) usleep(100);  // as NCCL does it
  return one;
}

/// As cudaDeviceSynchronize, which an abort may come to: kernels of other communicators hold it up until these are
/// aborted too, and so does a stream that waits for the host. Given up, so that a test fails and does not hang.
void await_device(int device) {
  constexpr int kMost = 100'000;  // tenths of a millisecond
  const auto is_busy = [device] {
    const std::lock_guard lock(known().mutex);
    return std::any_of(known().all.begin(), known().all.end(),
                       [&](const auto& one) { return one.second->device == device && one.second->is_running(); });
  };
  for (int i = 0; i < kMost && (baleen_emulated_parked_streams(device) > 0 || is_busy()); ++i) usleep(100);
}

/// Of this thread, between ncclGroupStart and ncclGroupEnd.
struct Group {
  int depth = 0;
  Code refused = kSuccess;
  std::vector<std::pair<Comm, Op>> ops;
};
thread_local Group group;
thread_local std::string last;

}  // namespace

std::shared_ptr<em::Communicator> em::find(Comm comm) {
  const std::lock_guard lock(known().mutex);
  const auto found = known().all.find(comm);
  return found == known().all.end() ? nullptr : found->second;
}

bool em::is_captured(void* stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUgraphNode* nodes = nullptr;
  std::size_t count = 0;
  return cuStreamGetCaptureInfo(static_cast<CUstream>(stream), &status, nullptr, nullptr, &nodes, nullptr, &count) ==
             CUDA_SUCCESS &&
         status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

Code em::refuse(Code code, const std::string& why) {
  last = why;
  if (group.depth > 0 && group.refused == kSuccess) group.refused = code;
  return code;
}

std::string em::current_device() {
  CUdevice device = 0;
  CUuuid uuid{};
  if (cuCtxGetDevice(&device) != CUDA_SUCCESS || cuDeviceGetUuid(&uuid, device) != CUDA_SUCCESS) return {};
  return {uuid.bytes, strnlen(uuid.bytes, sizeof uuid.bytes)};
}

namespace {

Code check(const em::Communicator& comm, const Op& op) {
  const std::string name = op.name();
  if (op.type < 0 || op.type > kBfloat16)
    return refuse(kInvalidArgument, name + ": no type " + std::to_string(op.type));
  if (op.op < 0 || op.op > kAvg) return refuse(kInvalidArgument, name + ": no op " + std::to_string(op.op));
  if (op.op != kSum && op.op != kMax) return refuse(kInvalidUsage, name + ": the double has no op but sum and max");
  if (op.peer < 0 || op.peer >= comm.ranks)
    return refuse(kInvalidArgument,
                  name + ": no rank " + std::to_string(op.peer) + " among " + std::to_string(comm.ranks));
  if (!op.stream) return refuse(kInvalidUsage, name + ": on no stream of its own");
  const bool gives = op.kind != Op::Kind::kReceive,
             takes = op.kind != Op::Kind::kSend && (op.kind != Op::Kind::kReduce || op.peer == comm.rank);
  if (op.count > 0 && ((gives && !op.from) || (takes && !op.to)))
    return refuse(kInvalidArgument, name + ": a null buffer");
  if (current_device().empty()) return refuse(kUnhandledCudaError, name + ": no device is current on this thread");
  return kSuccess;
}

Code end_group() {
  Group ended = std::move(group);
  group = Group{};
  if (ended.refused != kSuccess) return ended.refused;
  std::map<Comm, std::vector<Op>> by_comm;
  for (auto& [comm, op] : ended.ops) by_comm[comm].push_back(op);
  Code code = kSuccess;
  for (auto& [comm, ops] : by_comm) {
    const auto one = find(comm);
    if (!one) return refuse(kInvalidArgument, "ncclGroupEnd: a communicator is gone");
    for (const Op& op : ops)
      if (op.stream != ops.front().stream) return refuse(kInvalidUsage, "a group on two streams of one communicator");
    em::log_line(one->rank, "group of " + std::to_string(ops.size()));
    if (one->hand_over(std::move(ops)) == kInProgress) code = kInProgress;
  }
  return code;
}

Code add(Comm comm, const Op& op) {
  const auto one = find(comm);
  if (!one) return refuse(kInvalidArgument, std::string(op.name()) + ": not a communicator");
  if (em::is_to_fail("NCCL_DOUBLE_FAIL", op.name()))
    return refuse(kSystemError, std::string(op.name()) + " was failed by NCCL_DOUBLE_FAIL");
  if (!one->is_ready())
    return refuse(kInvalidUsage, std::string(op.name()) + ": the communicator is still in progress");
  if (const Code code = check(*one, op); code != kSuccess) return code;
  const bool alone = group.depth == 0;
  group.ops.emplace_back(comm, op);
  return alone ? end_group() : kSuccess;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): NVIDIA's names
DOUBLE_EXPORT const char* baleen_nccl_double_label() {
  return "the test double tests/support/nccl_double, over shared memory and emulated devices";
}

DOUBLE_EXPORT Code ncclGetVersion(int* version) {
  const char* text = std::getenv("NCCL_DOUBLE_VERSION");
  *version = text && *text ? std::atoi(text) : 22809;
  return kSuccess;
}

DOUBLE_EXPORT Code ncclGetUniqueId(UniqueId* id) {
  unsigned long long numbers[2];
  if (getrandom(numbers, sizeof numbers, 0) != sizeof numbers) return kSystemError;
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->internal, sizeof id->internal, "/baleen_nccl_double_%016llx%016llx", numbers[0], numbers[1]);
  return kSuccess;
}

DOUBLE_EXPORT Code ncclCommInitRankConfig(Comm* comm, int ranks, UniqueId id, int rank, Config* config) {
  *comm = nullptr;
  if (!config || config->magic != Config{}.magic || config->size < Config::kSizeIn218 || config->version < 21800)
    return refuse(kInvalidArgument, "ncclCommInitRankConfig: a configuration that was not initialised");
  if (ranks < 1 || rank < 0 || rank >= ranks || std::strncmp(id.internal, "/baleen_nccl_double_", 20) != 0)
    return refuse(kInvalidArgument, "ncclCommInitRankConfig: no such rank, or no such id");
  if (config->min_ctas != INT_MIN && config->max_ctas != INT_MIN && config->min_ctas > config->max_ctas)
    return refuse(kInvalidArgument, "ncclCommInitRankConfig: minCTAs is larger than maxCTAs");
  const int policy = config->version >= 22700 ? config->cta_policy : INT_MIN;
  int version = 0;
  ncclGetVersion(&version);
  if (policy != INT_MIN && (config->size < sizeof(Config) || policy < 0 || policy > kPolicyZero ||
                            (policy == kPolicyZero && version < kCopyEnginesSince)))
    return refuse(kInvalidArgument, "ncclCommInitRankConfig: no such CTAPolicy");
  const std::string device = current_device();
  if (device.empty()) return refuse(kUnhandledCudaError, "ncclCommInitRankConfig: no device is current on this thread");
  if (em::is_to_fail("NCCL_DOUBLE_FAIL", "ncclCommInitRankConfig"))
    return refuse(kSystemError, "ncclCommInitRankConfig was failed by NCCL_DOUBLE_FAIL");
  const auto made = std::make_shared<em::Communicator>(id, ranks, rank, config->blocking != 0);
  CUdevice current = 0;
  cuCtxGetDevice(&current);
  made->device = current;
  *comm = reinterpret_cast<Comm>(made.get());
  {
    const std::lock_guard lock(known().mutex);
    known().all.emplace(*comm, made);
  }
  std::string asked = "communicator of " + std::to_string(ranks) + ", channels " + std::to_string(config->min_ctas) +
                      " to " + std::to_string(config->max_ctas);
  if (policy != INT_MIN) asked += ", policy " + std::to_string(policy);
  for (const char* name : {"NCCL_SOCKET_IFNAME", "NCCL_ALGO", "NCCL_PROTO", "NCCL_DEBUG"})
    if (const char* value = std::getenv(name)) asked += std::string(", ") + name + " " + value;
  em::log_line(rank, asked);
  made->connect(device);
  return made->blocking ? made->state() : kInProgress;
}

DOUBLE_EXPORT Code ncclCommFinalize(Comm comm) {
  const auto one = find(comm);
  if (!one) return refuse(kInvalidArgument, "ncclCommFinalize: not a communicator");
  one->finalize();
  return kInProgress;
}
DOUBLE_EXPORT Code ncclCommDestroy(Comm comm) {
  const auto one = forget(comm);
  if (!one) return refuse(kInvalidArgument, "ncclCommDestroy: not a communicator");
  if (const std::size_t windows = em::forget_memory_of(comm); windows > 0)
    em::log_line(one->rank, "destroyed with windows: " + std::to_string(windows));
  return kSuccess;
}
DOUBLE_EXPORT Code ncclCommAbort(Comm comm) {
  const auto one = forget(comm);
  if (!one) return refuse(kInvalidArgument, "ncclCommAbort: not a communicator");
  em::forget_memory_of(comm);
  await_device(one->device);
  return kSuccess;
}
DOUBLE_EXPORT Code ncclCommGetAsyncError(Comm comm, Code* error) {
  const auto one = find(comm);
  if (!one || !error) return refuse(kInvalidArgument, "ncclCommGetAsyncError: not a communicator");
  *error = one->state();
  return kSuccess;
}

DOUBLE_EXPORT const char* ncclGetErrorString(Code code) {
  constexpr const char* kTexts[] = {"no error",
                                    "unhandled cuda error",
                                    "unhandled system error",
                                    "internal error",
                                    "invalid argument",
                                    "invalid usage",
                                    "remote process exited or there was a network error",
                                    "NCCL operation in progress"};
  return code >= 0 && code <= kInProgress ? kTexts[code] : "unknown result code";
}
DOUBLE_EXPORT const char* ncclGetLastError(Comm comm) {
  const auto one = find(comm);
  if (const std::string own = one ? one->last_error() : ""; !own.empty()) last = own;
  return last.c_str();
}

DOUBLE_EXPORT Code ncclGroupStart() {
  ++group.depth;
  return kSuccess;
}
DOUBLE_EXPORT Code ncclGroupEnd() {
  if (group.depth == 0) return refuse(kInvalidUsage, "ncclGroupEnd: not in a group call.");
  return --group.depth > 0 ? kSuccess : end_group();
}

DOUBLE_EXPORT Code ncclAllReduce(const void* from, void* to, std::size_t count, DataType type, RedOp op, Comm comm,
                                 StreamHandle stream) {
  return add(comm, {Op::Kind::kAllReduce, from, to, count, type, op, 0, stream});
}
DOUBLE_EXPORT Code ncclReduceScatter(const void* from, void* to, std::size_t count, DataType type, RedOp op, Comm comm,
                                     StreamHandle stream) {
  return add(comm, {Op::Kind::kReduceScatter, from, to, count, type, op, 0, stream});
}
DOUBLE_EXPORT Code ncclAllGather(const void* from, void* to, std::size_t count, DataType type, Comm comm,
                                 StreamHandle stream) {
  return add(comm, {Op::Kind::kAllGather, from, to, count, type, kSum, 0, stream});
}
DOUBLE_EXPORT Code ncclBroadcast(const void* from, void* to, std::size_t count, DataType type, int root, Comm comm,
                                 StreamHandle stream) {
  return add(comm, {Op::Kind::kBroadcast, from, to, count, type, kSum, root, stream});
}
DOUBLE_EXPORT Code ncclReduce(const void* from, void* to, std::size_t count, DataType type, RedOp op, int root,
                              Comm comm, StreamHandle stream) {
  return add(comm, {Op::Kind::kReduce, from, to, count, type, op, root, stream});
}
DOUBLE_EXPORT Code ncclSend(const void* from, std::size_t count, DataType type, int peer, Comm comm,
                            StreamHandle stream) {
  return add(comm, {Op::Kind::kSend, from, nullptr, count, type, kSum, peer, stream});
}
DOUBLE_EXPORT Code ncclRecv(void* to, std::size_t count, DataType type, int peer, Comm comm, StreamHandle stream) {
  return add(comm, {Op::Kind::kReceive, nullptr, to, count, type, kSum, peer, stream});
}
DOUBLE_EXPORT Code ncclAlltoAll(const void* from, void* to, std::size_t count, DataType type, Comm comm,
                                StreamHandle stream) {
  if (from == to) return refuse(kInvalidUsage, "ncclAlltoAll: in place");
  return add(comm, {Op::Kind::kAllToAll, from, to, count, type, kSum, 0, stream});
}
// NOLINTEND(readability-identifier-naming)

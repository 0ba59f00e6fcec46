/// \file Compares nccl.hpp with NVIDIA's nccl.h: symbols, sizes of arguments and structs, values. Compiled where there
/// is that header; holds no code.
#include <nccl.h>

#include <type_traits>

#include "maps.hpp"
#include "nccl.hpp"

namespace baleen::nccl {
namespace {

template <class Ours, class Theirs>
constexpr bool same_shape() {
  if constexpr (std::is_pointer_v<Ours> || std::is_pointer_v<Theirs>)
    return std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>;
  else
    return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs) &&
           std::is_class_v<Ours> == std::is_class_v<Theirs>;
}

/// Whether a call through one type passes the same registers as through the other.
template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class R, class... A, class R2, class... A2>
struct SameCall<R (*)(A...), R2 (*)(A2...)> {
  static constexpr bool test() {
    if constexpr (sizeof...(A) != sizeof...(A2))
      return false;
    else
      return same_shape<R, R2>() && (same_shape<A, A2>() && ...);
  }
  static constexpr bool value = test();
};
template <class R, class R2>
struct SameCall<R (*)(), R2 (*)()> {
  static constexpr bool value = same_shape<R, R2>();
};

#define BALEEN_NCCL_COMPARE(name, result, arguments) \
  static_assert(SameCall<result(*) arguments, decltype(&::name)>::value, #name " is declared otherwise in nccl.h");
BALEEN_NCCL_FUNCTIONS(BALEEN_NCCL_COMPARE)
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 0)
BALEEN_NCCL_FUNCTIONS_SINCE_219(BALEEN_NCCL_COMPARE)
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
BALEEN_NCCL_FUNCTIONS_SINCE_227(BALEEN_NCCL_COMPARE)
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
BALEEN_NCCL_FUNCTIONS_SINCE_228(BALEEN_NCCL_COMPARE)
#endif
#undef BALEEN_NCCL_COMPARE

static_assert(NCCL_VERSION_CODE >= kOldestVersion, "nccl.h is older than what this plugin needs");
static_assert(NCCL_VERSION(2, 18, 0) == kOldestVersion && NCCL_VERSION(2, 19, 0) == kMemorySince);
static_assert(NCCL_VERSION(2, 27, 0) == kWindowsSince && NCCL_VERSION(2, 28, 0) == kCopyEnginesSince);
static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId) && NCCL_UNIQUE_ID_BYTES == sizeof(UniqueId::internal));

// A later ncclConfig_t has more behind ours; an earlier one ends before ours does.
static_assert(Config::kSizeIn218 <= sizeof(ncclConfig_t) && alignof(Config) == alignof(ncclConfig_t));
static_assert(Config::kSizeIn218 == offsetof(Config, comm_name));
#define BALEEN_NCCL_FIELD(ours, theirs)                                                     \
  static_assert(offsetof(Config, ours) == offsetof(ncclConfig_t, theirs) &&                 \
                    std::is_same_v<decltype(Config::ours), decltype(ncclConfig_t::theirs)>, \
                "ncclConfig_t::" #theirs " lies elsewhere or is of another type")
BALEEN_NCCL_FIELD(size, size);
BALEEN_NCCL_FIELD(magic, magic);
BALEEN_NCCL_FIELD(version, version);
BALEEN_NCCL_FIELD(blocking, blocking);
BALEEN_NCCL_FIELD(cga_cluster_size, cgaClusterSize);
BALEEN_NCCL_FIELD(min_ctas, minCTAs);
BALEEN_NCCL_FIELD(max_ctas, maxCTAs);
BALEEN_NCCL_FIELD(net_name, netName);
BALEEN_NCCL_FIELD(split_share, splitShare);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
static_assert(sizeof(Config) <= sizeof(ncclConfig_t));
BALEEN_NCCL_FIELD(traffic_class, trafficClass);
BALEEN_NCCL_FIELD(comm_name, commName);
BALEEN_NCCL_FIELD(collnet_enable, collnetEnable);
BALEEN_NCCL_FIELD(cta_policy, CTAPolicy);
BALEEN_NCCL_FIELD(shrink_share, shrinkShare);
BALEEN_NCCL_FIELD(nvls_ctas, nvlsCTAs);
BALEEN_NCCL_FIELD(channels_per_net_peer, nChannelsPerNetPeer);
BALEEN_NCCL_FIELD(nvlink_centric_sched, nvlinkCentricSched);
static_assert(kPolicyZero == NCCL_CTA_POLICY_ZERO);
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
static_assert(sizeof(Window) == sizeof(ncclWindow_t) && kSymmetric == NCCL_WIN_COLL_SYMMETRIC);
#endif
#undef BALEEN_NCCL_FIELD
constexpr ncclConfig_t kDefaults = NCCL_CONFIG_INITIALIZER;
static_assert(kDefaults.magic == Config{}.magic && NCCL_CONFIG_UNDEF_INT == Config{}.blocking);

#define BALEEN_NCCL_VALUE(ours, theirs) static_assert(int{ours} == int{theirs}, #theirs " has another value in nccl.h")
BALEEN_NCCL_VALUE(kSuccess, ncclSuccess);
BALEEN_NCCL_VALUE(kUnhandledCudaError, ncclUnhandledCudaError);
BALEEN_NCCL_VALUE(kSystemError, ncclSystemError);
BALEEN_NCCL_VALUE(kInternalError, ncclInternalError);
BALEEN_NCCL_VALUE(kInvalidArgument, ncclInvalidArgument);
BALEEN_NCCL_VALUE(kInvalidUsage, ncclInvalidUsage);
BALEEN_NCCL_VALUE(kRemoteError, ncclRemoteError);
BALEEN_NCCL_VALUE(kInProgress, ncclInProgress);
BALEEN_NCCL_VALUE(kInt8, ncclInt8);
BALEEN_NCCL_VALUE(kUint8, ncclUint8);
BALEEN_NCCL_VALUE(kInt32, ncclInt32);
BALEEN_NCCL_VALUE(kUint32, ncclUint32);
BALEEN_NCCL_VALUE(kInt64, ncclInt64);
BALEEN_NCCL_VALUE(kUint64, ncclUint64);
BALEEN_NCCL_VALUE(kFloat16, ncclFloat16);
BALEEN_NCCL_VALUE(kFloat32, ncclFloat32);
BALEEN_NCCL_VALUE(kFloat64, ncclFloat64);
BALEEN_NCCL_VALUE(kBfloat16, ncclBfloat16);
BALEEN_NCCL_VALUE(kSum, ncclSum);
BALEEN_NCCL_VALUE(kProd, ncclProd);
BALEEN_NCCL_VALUE(kMax, ncclMax);
BALEEN_NCCL_VALUE(kMin, ncclMin);
BALEEN_NCCL_VALUE(kAvg, ncclAvg);
#undef BALEEN_NCCL_VALUE

// What maps.hpp says, in NCCL's own words.
static_assert(*data_type(BALEEN_F64) == int{ncclFloat64} && *data_type(BALEEN_F32) == int{ncclFloat32});
static_assert(*data_type(BALEEN_F16) == int{ncclFloat16} && *data_type(BALEEN_BF16) == int{ncclBfloat16});
static_assert(*data_type(BALEEN_I64) == int{ncclInt64} && *data_type(BALEEN_I32) == int{ncclInt32});
static_assert(*data_type(BALEEN_U8) == int{ncclUint8});
static_assert(*red_op(BALEEN_SUM) == int{ncclSum} && *red_op(BALEEN_MAXIMUM) == int{ncclMax});

}  // namespace
}  // namespace baleen::nccl

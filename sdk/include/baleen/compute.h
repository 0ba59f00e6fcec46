/* A compute plugin: one device's memory, streams and kernels. */
#pragma once
#include "baleen/event.h"
#include "baleen/host.h"
#include "baleen/op.h"

BALEEN_BEGIN

typedef uint32_t baleen_arena_kind_t;
enum {
    BALEEN_ARENA_PRIVATE = 1, /* only kernels touch it */
    BALEEN_ARENA_SHARED = 2,  /* collectives touch it too */
    BALEEN_ARENA_PINNED = 3   /* host memory that copies touch */
};

/* A consecutive stretch of a dimension: local elements [local, local + length) are global [global, ...). */
typedef struct baleen_run_t {
    int64_t local, global, length;
} baleen_run_t;
BALEEN_ASSERT_SIZE(baleen_run_t, 24);

typedef uint32_t baleen_tensor_flags_t;
enum {
    BALEEN_TENSOR_EXTERNAL_INPUT = 1u << 0, /* enters the region */
    BALEEN_TENSOR_OUTPUT = 1u << 1,         /* leaves the region; otherwise it need never be stored */
    BALEEN_TENSOR_PERSISTENT = 1u << 2      /* a parameter or state: same address every launch */
};

/* A kernel's view of a tensor. Strides are in elements and >= 0 (0: broadcast); any strides may come, the innermost
 * dimension of extent > 1 has stride 1 unless the tensor was broadcast along it or transposed without a copy. */
typedef struct baleen_tensor_t {
    uint64_t size;
    baleen_dtype_t dtype;
    uint32_t rank;
    baleen_tensor_flags_t flags;
    int32_t micro_dim; /* the dimension cut into micro-batches, or -1 */
    int64_t shape[BALEEN_MAX_RANK];
    int64_t stride[BALEEN_MAX_RANK];
    int64_t global_shape[BALEEN_MAX_RANK];
    int64_t micro_step; /* global indices from one micro-batch to the next, along micro_dim */
    /* Per dimension the global indices held here, micro-batch 0; along micro_dim a later micro-batch m adds
     * m * micro_step. run_count 0 means one run from 0. */
    const baleen_run_t* runs[BALEEN_MAX_RANK];
    uint32_t run_count[BALEEN_MAX_RANK];
} baleen_tensor_t;
BALEEN_ASSERT_SIZE(baleen_tensor_t, 320);

/* Ops to be computed by one kernel, in topological order: an anchor with pointwise neighbours, or a single op.
 *
 * Dtypes: each floating operand and result is fp32, bf16 or fp16, whatever the others are; a kernel looks at the
 * tensors' dtypes, never at attributes. It computes in fp32 (sums of products are fp32) and rounds each result once, to
 * nearest even, when it stores it: what adds into a buffer adds in fp32. Too large for fp16 is an infinity, NaN stays
 * NaN, denormals are kept. With an fp64 operand or result all floating ones are fp64, and so is the arithmetic; only
 * `pointwise` mixes it with the others (and may go from fp64 to 16 bits by way of fp32). Ids are int32. A cast is a
 * `pointwise` whose expression is its input. Ops that only move elements (copy, reshape, ...) keep the dtype.
 * An operand of `matmul`, an operand or result of `pointwise`, and what only moves may also have 8 bits (fp8.hpp); a
 * device that has none refuses such a region.
 * Conversions go by rows, blocks or panels: scratch holds no widened tensor, except a 16-bit result that must be summed
 * over parts of the batch.
 * Borrowed for the call: a device copies what its launches need.
 */
typedef struct baleen_region_t {
    uint64_t size;
    const baleen_op_view_t* ops;
    uint64_t op_count;
    const baleen_tensor_t* tensors;
    uint64_t tensor_count;
    /* Per op the kind (op_kind.h) where a plugin brought it, which may have a kernel for this device; else null. */
    const struct baleen_op_kind_t* const* kinds;
} baleen_region_t;
BALEEN_ASSERT_SIZE(baleen_region_t, 48);

/* Output tensor `output` may use the very bytes of input tensor `input`, if shapes, strides and dtypes agree. */
typedef struct baleen_alias_t {
    uint32_t output, input;
} baleen_alias_t;
BALEEN_ASSERT_SIZE(baleen_alias_t, 8);

typedef struct baleen_kernel_t {
    uint64_t size;
    void* kernel;                  /* owned by the host until `release` */
    uint64_t scratch_bytes;        /* needed during each launch; the plan holds it, 64-byte aligned */
    const baleen_alias_t* aliases; /* legal ones; valid as long as the kernel */
    uint64_t alias_count;
    double flops; /* per launch, for the profiler and `baleen graph`; 0 if not arithmetic-bound */
} baleen_kernel_t;
BALEEN_ASSERT_SIZE(baleen_kernel_t, 48);

/* What may differ between two launches of one kernel. */
typedef struct baleen_launch_t {
    uint64_t size;
    void* stream;
    void* const* tensors; /* an address per region tensor; null for those that are neither input nor output */
    void* scratch;
    uint64_t seed;
    uint64_t step;
    uint64_t micro; /* micro-batch, from 0 */
} baleen_launch_t;
BALEEN_ASSERT_SIZE(baleen_launch_t, 56);

typedef struct baleen_device_info_t {
    uint64_t size;
    char name[64];
    char summary[192];     /* instruction sets, libraries and their versions */
    uint64_t memory_bytes; /* that may be planned for */
    uint64_t private_bytes; /* the plugin's own memory beside the arenas, as created (scratchpads, thread stacks) */
    uint32_t threads;
    uint32_t alignment; /* of arena offsets */
} baleen_device_info_t;
BALEEN_ASSERT_SIZE(baleen_device_info_t, 288);

/* The answer to the query BALEEN_DEVICE_PEAK; optional, for profiles. */
#define BALEEN_DEVICE_PEAK "baleen.compute.peak/1"
typedef struct baleen_peak_t {
    uint64_t size;
    /* Measures what the device does at most just now, in well under a second: fp32 operations per second (a
     * multiply-add is two), and bytes per second of a loop over arrays that fit no cache, of which four are read and
     * three written. */
    baleen_status_t (*measure)(void* device, double* flops_per_second, double* bytes_per_second);
} baleen_peak_t;
BALEEN_ASSERT_TABLE(baleen_peak_t, measure, 16);

/* A device's limits as its maker states them; what is not known is 0. */
typedef struct baleen_device_limits_t {
    uint64_t size;
    char name[64];
    char architecture[64]; /* "compute capability 9.0" */
    uint64_t memory_bytes, memory_free_bytes;
    double bytes_per_second; /* of its memory */
    /* Operations per second of dense products (a multiply-add is two); tf32: of fp32 with rounded operands. */
    double fp64, fp32, tf32, bf16, fp16;
} baleen_device_limits_t;
BALEEN_ASSERT_SIZE(baleen_device_limits_t, 200);

/* The answer to the query BALEEN_DEVICE_LIMITS, of a device or (null) of the plugin; optional, for people. */
#define BALEEN_DEVICE_LIMITS "baleen.compute.limits/1"
typedef struct baleen_compute_limits_t {
    uint64_t size;
    /* Describes the machine's devices in the order of their numbers, at most `capacity`, `out->size` bytes apart
     * (base.h); `count` is how many there are.
     * None is made. Fails where there is none, with the reason. */
    baleen_status_t (*list)(const baleen_host_t* host, const baleen_settings_t* settings, baleen_device_limits_t* out,
                            uint64_t capacity, uint64_t* count);
    /* Of a device that was made. */
    baleen_status_t (*of)(void* device, baleen_device_limits_t* out);
} baleen_compute_limits_t;
BALEEN_ASSERT_TABLE(baleen_compute_limits_t, of, 24);

/* The answer to the query BALEEN_DEVICE_MEMORY; without one, arenas are the host's own memory. */
#define BALEEN_DEVICE_MEMORY "baleen.compute.memory/1"
typedef uint32_t baleen_memory_flags_t;
enum {
    BALEEN_MEMORY_HOST_REACHES = 1u << 0, /* the host reads and writes private and shared arenas by their addresses */
    BALEEN_MEMORY_OF_RANK = 1u << 1       /* info's `memory_bytes` is for this rank; else for all ranks of the host */
};
typedef struct baleen_device_memory_t {
    uint64_t size;
    baleen_memory_flags_t flags;
    uint32_t reserved;
    baleen_string_t kind; /* what a transport is asked whether it takes, as "cuda"; lives as long as the plugin */
    /* Lets copies use the host's memory at `base` as they use a pinned arena, until it is unpinned. Both null: nothing
     * is gained by it. */
    baleen_status_t (*pin)(void* device, void* base, uint64_t bytes);
    void (*unpin)(void* device, void* base);
} baleen_device_memory_t;
BALEEN_ASSERT_TABLE(baleen_device_memory_t, unpin, 48);

/* The answer to the query BALEEN_DESCRIBED_DEVICE of the plugin (its device is null); optional: without one, plans are
 * made with a device that `create` makes. */
#define BALEEN_DESCRIBED_DEVICE "baleen.compute.described/1"
typedef struct baleen_described_device_t {
    uint64_t size;
    /* A device that is described by the settings of a real one, and need not be there: it starts no driver and no
     * threads and takes no memory. Of the plugin's functions info, supports, compile, release, destroy and query are
     * called with it, of the tables that `query` gives baleen_device_memory_t's data and baleen_compute_limits_t's
     * `of`. It answers as a real device would; scratch that only libraries of a real one know may be more than is
     * needed, never less. Kernels are not launched. Fails where the settings do not tell enough, and says which do. */
    baleen_status_t (*create)(const baleen_host_t* host, const baleen_settings_t* settings, void** device);
} baleen_described_device_t;
BALEEN_ASSERT_TABLE(baleen_described_device_t, create, 16);

/* The answer to the query BALEEN_SEQUENCES of a device: launches that come again and again are enqueued as one.
 * [as `launch`] */
#define BALEEN_SEQUENCES "baleen.compute.sequences/1"
typedef struct baleen_sequences_t {
    uint64_t size;
    /* What this thread launches, zeroes and copies on the stream from now on, until `end`, is kept and not run.
     * Meanwhile the stream neither waits nor signals nor is synchronized. What is launched has been launched before. */
    baleen_status_t (*begin)(void* device, void* stream);
    /* UNSUPPORTED where something could not be kept, and after any failure since `begin`: then nothing of it has run or
     * will. */
    baleen_status_t (*end)(void* device, void* stream, void** sequence);
    /* Enqueues all of it once, on the stream it was kept from, as if launched with this seed and step; tensors and
     * micro-batch are those of then. Allocates nothing. */
    baleen_status_t (*replay)(void* device, void* stream, void* sequence, uint64_t seed, uint64_t step);
    void (*release)(void* device, void* sequence); /* it is not under way */
} baleen_sequences_t;
BALEEN_ASSERT_TABLE(baleen_sequences_t, release, 40);

/* The table of kind "compute". Calls on one device come from one thread at a time, except `launch` and events. */
typedef struct baleen_compute_t {
    uint64_t size;
    baleen_status_t (*create)(const baleen_host_t* host, const baleen_settings_t* settings, void** device);
    void (*destroy)(void* device);
    baleen_status_t (*info)(void* device, baleen_device_info_t* out);
    /* Zeroed memory, aligned to `alignment`. */
    baleen_status_t (*arena_create)(void* device, baleen_arena_kind_t kind, uint64_t bytes, void** base);
    void (*arena_destroy)(void* device, baleen_arena_kind_t kind, void* base, uint64_t bytes);
    /* 0: cannot. Greater: can; the core takes the largest region that a device supports. Does not allocate. */
    uint32_t (*supports)(void* device, const baleen_region_t* region);
    /* Builds a kernel. [plan time; may be slow] */
    baleen_status_t (*compile)(void* device, const baleen_region_t* region, baleen_kernel_t* out);
    void (*release)(void* device, void* kernel);
    /* Enqueues. Allocates, locks and logs nothing. [stream order] */
    baleen_status_t (*launch)(void* device, void* kernel, const baleen_launch_t* launch);
    baleen_status_t (*stream_create)(void* device, void** stream);
    void (*stream_destroy)(void* device, void* stream);
    baleen_status_t (*stream_wait)(void* device, void* stream, baleen_event_t* event, uint64_t value);
    baleen_status_t (*stream_signal)(void* device, void* stream, baleen_event_t* event, uint64_t value);
    /* Blocks the caller until all that was enqueued is done; reports what went wrong meanwhile. */
    baleen_status_t (*synchronize)(void* device, void* stream);
    /* Copies between arenas and ordinary host memory, either way. [stream order; host memory must live until done] */
    baleen_status_t (*copy)(void* device, void* stream, void* to, const void* from, uint64_t bytes);
    baleen_status_t (*zero)(void* device, void* stream, void* to, uint64_t bytes);
    /* An optional extension by name and revision, or null. `device` may be null: then the plugin is asked. */
    const void* (*query)(void* device, baleen_string_t name);
} baleen_compute_t;
BALEEN_ASSERT_TABLE(baleen_compute_t, query, 144);
/* The functions in their order; an OPTIONAL one may be null. */
#define BALEEN_COMPUTE_FUNCTIONS(REQUIRED, OPTIONAL)                                                            \
    REQUIRED(create) REQUIRED(destroy) REQUIRED(info) REQUIRED(arena_create) REQUIRED(arena_destroy)            \
    REQUIRED(supports) REQUIRED(compile) REQUIRED(release) REQUIRED(launch) REQUIRED(stream_create)             \
    REQUIRED(stream_destroy) REQUIRED(stream_wait) REQUIRED(stream_signal) REQUIRED(synchronize) REQUIRED(copy) \
    REQUIRED(zero) OPTIONAL(query)

BALEEN_END

/* An offload backend: keeps bytes of tensors outside the device. Bytes lie in slots, which are reserved before the
 * first step; in a step they are put and got asynchronously, and nothing is allocated. */
#pragma once
#include "baleen/event.h"
#include "baleen/host.h"

BALEEN_BEGIN

#define BALEEN_OFFLOAD_MAX_OUTSTANDING 1024
#define BALEEN_OFFLOAD_MAX_SLOTS 1048576
#define BALEEN_OFFLOAD_ANY 0xffffffffu /* check: of any slot */

/* Lets a device copy from and to the host's memory at full speed; what a compute plugin offers as `pin` and `unpin`. */
typedef struct baleen_offload_pinning_t {
    uint64_t size;
    void* self;
    baleen_status_t (*pin)(void* self, void* base, uint64_t bytes);
    void (*unpin)(void* self, void* base);
} baleen_offload_pinning_t;
BALEEN_ASSERT_TABLE(baleen_offload_pinning_t, unpin, 32);

/* What a store is made for. Borrowed for the call; `pinning`: as long as the store. */
typedef struct baleen_offload_spec_t {
    uint64_t size;
    uint64_t budget;      /* bytes that all slots may take, each rounded up to the alignment; 0: as the place has */
    uint32_t outstanding; /* operations that are unfinished at a time, at most; 1 to BALEEN_OFFLOAD_MAX_OUTSTANDING */
    uint32_t reserved;
    const baleen_offload_pinning_t* pinning; /* pins the memory of slots that can be mapped; null: it stays as it is */
    baleen_string_t who;                     /* "rank 3": for messages; may be empty */
} baleen_offload_spec_t;
BALEEN_ASSERT_SIZE(baleen_offload_spec_t, 48);

/* A slot to reserve. Until its first put it reads as zeros. */
typedef struct baleen_offload_slot_t {
    uint64_t size;
    baleen_string_t name; /* for messages; copied */
    uint64_t bytes;       /* any number; 0 is a slot without contents */
} baleen_offload_slot_t;
BALEEN_ASSERT_SIZE(baleen_offload_slot_t, 32);

/* One put or get of a part of a slot. Borrowed for the call; memory and events live until the operation is over. */
typedef struct baleen_offload_transfer_t {
    uint64_t size;
    uint32_t slot; /* its number */
    uint32_t reserved;
    uint64_t offset; /* in the slot; a multiple of the alignment */
    uint64_t bytes;  /* a multiple of the alignment, or all that is left of the slot; 0: only the events matter */
    void* memory;    /* of the host, anywhere; put: read, unchanged until then. get: written, undefined if it fails */
    baleen_event_t* after; /* begins when this has reached `after_value`; null: at once */
    uint64_t after_value;
    baleen_event_t* done; /* raised to `done_value`, or to BALEEN_EVENT_FAILED; may be null */
    uint64_t done_value;
} baleen_offload_transfer_t;
BALEEN_ASSERT_SIZE(baleen_offload_transfer_t, 72);

typedef uint32_t baleen_offload_flags_t;
enum {
    BALEEN_OFFLOAD_CHECKED = 1u << 0, /* each block has a checksum, compared at every get */
    BALEEN_OFFLOAD_MAPPED = 1u << 1,  /* slots can be mapped */
    BALEEN_OFFLOAD_PINNED = 1u << 2   /* what is mapped is pinned */
};

typedef struct baleen_offload_info_t {
    uint64_t size;
    uint64_t alignment;        /* of offsets and sizes; a power of two, at least 64 and at most 65536 */
    uint64_t memory_alignment; /* of memory, for operations without a copy; a power of two */
    uint64_t capacity;         /* bytes that slots may take in all: the budget, or what the place had at create */
    uint64_t in_use;           /* bytes that they take */
    uint64_t overhead;         /* bytes of the host's memory that the store itself takes: buffers, checksums */
    baleen_offload_flags_t flags;
    uint32_t slots; /* reserved so far */
} baleen_offload_info_t;
BALEEN_ASSERT_SIZE(baleen_offload_info_t, 56);

/* Measured, not promised. Latency: of one operation of `alignment` bytes alone, the median. */
typedef struct baleen_offload_speed_t {
    uint64_t size;
    double put_bytes_per_second, get_bytes_per_second;
    double put_seconds, get_seconds;
} baleen_offload_speed_t;
BALEEN_ASSERT_SIZE(baleen_offload_speed_t, 40);

/* The table of kind "offload".
 *
 * Threads: calls on one store come from one thread at a time, `check` from any; workers of the store's own complete
 * operations and raise events. Different stores may be different threads'.
 * Order: an operation sees what operations on the same bytes that were started before it have done. Others overtake one
 * another, so a put that waits for `after` holds up nothing but operations on its own bytes.
 * Failure: an operation that fails raises its `done` to BALEEN_EVENT_FAILED; others go on. `check` tells why. So does
 * every wait end: a place that does not answer fails the operation in the time that the member's option says. What a
 * failed put leaves is undefined; a CHECKED store fails gets of it until it is put again. After a TIMEOUT the memory of
 * the operation lives until `destroy` has returned: the kernel may still be at it. */
typedef struct baleen_offload_t {
    uint64_t size;
    baleen_status_t (*create)(const baleen_host_t* host, const baleen_settings_t* settings,
                              const baleen_offload_spec_t* spec, void** store);
    /* Operations that wait for their `after` fail, those that have begun end first; then slots and files are gone. */
    void (*destroy)(void* store);
    /* Reserves slots, numbered on from those before: all or none. Takes the memory and the room on disks now, so that
     * no step runs out of either. NO_MEMORY, with needed and available bytes, where the budget or the place has
     * too few. May be called again while no operation is unfinished. */
    baleen_status_t (*reserve)(void* store, const baleen_offload_slot_t* slots, uint64_t count);
    /* Enqueue, and allocate nothing. INVALID, and nothing is begun, where the slot, the range or its alignment is wrong
     * or too many operations are unfinished. What may begin at once and is short may be done within the call. */
    baleen_status_t (*put)(void* store, const baleen_offload_transfer_t* transfer);
    baleen_status_t (*get)(void* store, const baleen_offload_transfer_t* transfer);
    /* OK, or the first failure of an operation on this slot, or on any (BALEEN_OFFLOAD_ANY). [any thread] */
    baleen_status_t (*check)(void* store, uint32_t slot);
    /* What the store is and holds; writes as much of it as `info` has room for. */
    baleen_status_t (*describe)(void* store, baleen_offload_info_t* info);
    /* Measures for about `seconds` (0.05 to 60), with room that is given back; no operation is unfinished. */
    baleen_status_t (*measure)(void* store, double seconds, baleen_offload_speed_t* speed);
    /* The slot's memory, to be used in place until `destroy`, aligned to `memory_alignment`; puts and gets work on the
     * same bytes. Null: this member has none that can be. */
    baleen_status_t (*map)(void* store, uint32_t slot, void** base);
    /* An optional extension by name and revision, or null. May be null itself. */
    const void* (*query)(void* store, baleen_string_t name);
} baleen_offload_t;
BALEEN_ASSERT_TABLE(baleen_offload_t, query, 88);
/* The functions in their order; an OPTIONAL one may be null. */
#define BALEEN_OFFLOAD_FUNCTIONS(REQUIRED, OPTIONAL)                                                            \
    REQUIRED(create) REQUIRED(destroy) REQUIRED(reserve) REQUIRED(put) REQUIRED(get) REQUIRED(check)            \
    REQUIRED(describe) REQUIRED(measure) OPTIONAL(map) OPTIONAL(query)

BALEEN_END

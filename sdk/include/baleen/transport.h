/* A transport: collectives over groups of ranks. Two steps: `prepare` at plan time, on every member in one order,
 * exchanges addresses and compares arguments; `start` at run time only enqueues. */
#pragma once
#include "baleen/event.h"
#include "baleen/host.h"

BALEEN_BEGIN

typedef int32_t baleen_collective_t;
enum {
    BALEEN_ALL_REDUCE = 1,     /* everyone's input, reduced, is everyone's output */
    BALEEN_REDUCE_SCATTER = 2, /* everyone's input, reduced; member r's output is block r */
    BALEEN_ALL_GATHER = 3,     /* member r's input is block r of everyone's output */
    BALEEN_BROADCAST = 4,      /* the root's input is everyone's output (the root's output may be null) */
    BALEEN_REDUCE = 5,         /* everyone's input, reduced, is the root's output */
    BALEEN_ALL_TO_ALL = 6,     /* a piece from everyone to everyone; pieces lie in the order of members */
    BALEEN_PERMUTE = 7,        /* member r's input is the output of member destinations[r] */
    BALEEN_SEND = 8,           /* input to the member `root`, which prepares the matching RECEIVE */
    BALEEN_RECEIVE = 9,
    BALEEN_BARRIER = 10        /* done when everyone has started it; no entries */
};
/* A set of them: the bits BALEEN_OPERATION(BALEEN_SEND), ... */
typedef uint32_t baleen_operations_t;
#define BALEEN_OPERATION(op) ((baleen_operations_t)1 << (op))

typedef int32_t baleen_reduction_t;
enum { BALEEN_SUM = 1, BALEEN_MAXIMUM = 2 }; /* maximum: NaN wins. Integers wrap. */

/* One contiguous tensor of a collective. A collective takes a list of them, so a bucket is a list and nothing is copied
 * to form it. Only pointers may differ between members, and `sends`, `receives`. A pointer with nothing behind it may
 * be null. In place: input == output; where one side is a block: the block's place in the other. Otherwise they do not
 * overlap. Not in place: ALL_TO_ALL. */
typedef struct baleen_collective_entry_t {
    const void* input;
    void* output;
    uint64_t count; /* elements of the larger side */
    uint64_t block; /* REDUCE_SCATTER, ALL_GATHER: member r holds [r * block, min(count, (r + 1) * block)): the last may
                       be short or empty. ALL_TO_ALL without `sends`: elements from each to each; count = block *
                       members. */
    const uint64_t* sends;    /* ALL_TO_ALL: elements to each member, or null; then count and block are 0 */
    const uint64_t* receives; /* ALL_TO_ALL: elements from each member; with `sends` */
} baleen_collective_entry_t;
BALEEN_ASSERT_SIZE(baleen_collective_entry_t, 48);

/* Borrowed for the call; the tensors it points to live as long as the slot. */
typedef struct baleen_collective_spec_t {
    uint64_t size;
    baleen_collective_t op;
    baleen_reduction_t reduction; /* ALL_REDUCE, REDUCE_SCATTER, REDUCE; else 0. bf16 and fp16 accumulate in fp32 */
    baleen_dtype_t dtype;         /* of all entries; with one of 8 bits, E4M3 or E5M2, what reduces is refused */
    int32_t root;                 /* BROADCAST, REDUCE: the root's place in the group; SEND, RECEIVE: peer's; else 0 */
    const baleen_collective_entry_t* entries;
    uint64_t entry_count;
    const int32_t* destinations; /* PERMUTE: per member the place in the group it sends to, or -1; no two alike */
    /* Not 0: each element is summed as a balanced binary tree over the members' order, whatever the algorithm, the
     * list, the position or the transport: sum(lo, hi) = sum(lo, m) + sum(m, hi), m = lo + ceil((hi - lo) / 2). A
     * member that cannot do so refuses in `prepare` with UNSUPPORTED, and says `deterministic = false`, the manifest's
     * key. 0: in any order, which may differ from run to run. */
    uint32_t deterministic;
    uint32_t reserved;
    baleen_string_t where; /* place in the script, for messages */
} baleen_collective_spec_t;
BALEEN_ASSERT_SIZE(baleen_collective_spec_t, 72);

/* How ranks meet before there is a transport: a small store, given by the host. Serves one `create`; keys are the
 * transport's own. [any thread] */
typedef struct baleen_rendezvous_t {
    uint64_t size;
    void* self;
    int32_t rank, ranks;
    baleen_status_t (*put)(void* self, baleen_string_t key, baleen_string_t value);
    /* Waits until the key is there; returns the bytes of its value and writes as many as `capacity` allows. -1 after
     * `fail`: the run is over (the host wakes all who wait when a rank is lost). */
    int64_t (*get)(void* self, baleen_string_t key, char* value, uint64_t capacity);
    /* Not 0: the run is over. A `create` that waits for a peer by other means than `get` looks here now and then. */
    int32_t (*over)(void* self);
    const int32_t* host_of; /* a number per rank, the same for ranks of one host; null: all are on one */
    /* Where this rank listens for those of other hosts unless the user says otherwise: baleen_place_t.address. */
    const char* address;
} baleen_rendezvous_t;
BALEEN_ASSERT_TABLE(baleen_rendezvous_t, address, 64);

typedef uint32_t baleen_transport_flags_t;
enum {
    /* Asked for by hosts before 1.3; the host compares the order itself now. */
    BALEEN_TRANSPORT_CHECKED = 1u << 0,
    BALEEN_TRANSPORT_NOTED = 1u << 1
};

/* The table of kind "transport". Calls on one transport come from one thread at a time, except where [any thread].
 * create, group_create and prepare wait for the other members; nothing else does.
 *
 * Failure: when an operation fails (another order, `abort`), the `done` of every unfinished operation goes to
 * BALEEN_EVENT_FAILED, so that no waiter hangs; `check` and every later call tell the first reason.
 *
 * Bytes that a member of n sends, per entry of c elements of s bytes (`collective_bytes` in collective.hpp):
 *   all_reduce 2 (n-1) c s / n, rounded down · reduce_scatter all blocks but its own · all_gather (n-1) times its block
 *   broadcast (n-1) c s at the root · reduce c s but at the root · all_to_all its pieces to others
 *   permute c s if to another · send c s · receive, barrier 0.
 */
typedef struct baleen_transport_t {
    uint64_t size;
    /* Collective over all ranks of the rendezvous, which outlives the call only. `flags`: 0. */
    baleen_status_t (*create)(const baleen_host_t* host, const baleen_settings_t* settings,
                              const baleen_rendezvous_t* rendezvous, baleen_transport_flags_t flags, void** transport);
    /* Frees groups, slots and memory. What is unfinished fails first; peers that wait for this rank fail. */
    void (*destroy)(void* transport);
    /* Zeroed memory of the transport's own that peers reach without copies: a plan's collectives work in it. Page
     * aligned. Both null: the compute plugin's arenas are registered instead. Buffers elsewhere work too, slower. */
    baleen_status_t (*allocate)(void* transport, uint64_t bytes, void** base);
    void (*release)(void* transport, void* base); /* no slot that touches it is started any more, on any rank */
    /* Makes memory of another's known, until unregistered. Both null: nothing is gained by it. */
    baleen_status_t (*register_arena)(void* transport, void* base, uint64_t bytes);
    void (*unregister_arena)(void* transport, void* base);
    /* Collective over the members; `ranks` ascending. Groups are created by all their members in one global order. */
    baleen_status_t (*group_create)(void* transport, const int32_t* ranks, uint64_t count, void** group);
    /* With its slots. What this rank has unfinished, in any group, fails first: afterwards nothing touches
     * the events and the memory of what was started. */
    void (*group_destroy)(void* transport, void* group);
    /* Collective over the members (SEND, RECEIVE: over the two), in one order. Arguments that disagree are an error on
     * each of them that names both sides. The slot lives as long as its group and may be started again and again,
     * also before a run of it is done: runs of one slot follow each other, each reads what the one before wrote. */
    baleen_status_t (*prepare)(void* transport, void* group, const baleen_collective_spec_t* spec, void** slot);
    /* Enqueues: begins when `after` (null: at once) has reached `after_value`, then raises `done` (may be null) to
     * `done_value`. Allocates nothing. Operations of a rank begin in the order of their starts; a SEND or RECEIVE that
     * waits for its peer holds up no later operation. Where nothing has to be waited for, a short one may be done
     * within the call. At most BALEEN_MAX_OUTSTANDING are unfinished at a time. The events live until then, in this
     * process. */
    baleen_status_t (*start)(void* transport, void* slot, baleen_event_t* after, uint64_t after_value,
                             baleen_event_t* done, uint64_t done_value);
    /* OK, or the first failure of an operation. [any thread] */
    baleen_status_t (*check)(void* transport);
    /* The run is over: all blocked calls on this rank, and all later ones, fail with BALEEN_PEER_LOST and the reason.
     * [any thread] */
    void (*abort)(void* transport, baleen_string_t reason);
    /* An optional extension by name and revision, or null. `transport` may be null: then the plugin is asked, before
     * there is a transport. */
    const void* (*query)(void* transport, baleen_string_t name);
} baleen_transport_t;
BALEEN_ASSERT_TABLE(baleen_transport_t, query, 112);
/* The functions in their order; an OPTIONAL one may be null. */
#define BALEEN_TRANSPORT_FUNCTIONS(REQUIRED, OPTIONAL)                                                          \
    REQUIRED(create) REQUIRED(destroy) OPTIONAL(allocate) OPTIONAL(release) OPTIONAL(register_arena)            \
    OPTIONAL(unregister_arena) REQUIRED(group_create) REQUIRED(group_destroy) REQUIRED(prepare) REQUIRED(start) \
    REQUIRED(check) REQUIRED(abort) OPTIONAL(query)

#define BALEEN_MAX_OUTSTANDING 1024

/* Asked for by hosts before 1.3, beside BALEEN_TRANSPORT_NOTED. */
#define BALEEN_TRANSPORT_NOTES "baleen.transport.notes/1"
typedef struct baleen_transport_notes_t {
    uint64_t size;
    baleen_status_t (*note)(void* transport, void* slot);
} baleen_transport_notes_t;
BALEEN_ASSERT_TABLE(baleen_transport_notes_t, note, 16);

/* The answer to the query BALEEN_TRANSPORT_MEMORY, of the plugin; without one, collectives work in the host's memory
 * only, and the host copies what lies in a device's. */
#define BALEEN_TRANSPORT_MEMORY "baleen.transport.memory/2"
typedef struct baleen_transport_memory_t {
    uint64_t size;
    /* Not 0: collectives also work in memory of this kind (baleen_device_memory_t), which is registered before. [any
     * thread] */
    int32_t (*takes)(void* transport, baleen_string_t kind);
    /* The same of a transport that `create` would make. [any thread] */
    int32_t (*would_take)(const baleen_host_t* host, const baleen_settings_t* settings, baleen_string_t kind);
    /* Optional, both: which collectives do, where `takes` and `would_take` say 0, since not all of them do. The host
     * copies what the others work on. All ranks get the same answer of `takes_operations`, and SEND and RECEIVE are in
     * it together. [any thread] */
    baleen_operations_t (*takes_operations)(void* transport, baleen_string_t kind);
    baleen_operations_t (*would_take_operations)(const baleen_host_t* host, const baleen_settings_t* settings,
                                                 baleen_string_t kind);
} baleen_transport_memory_t;
BALEEN_ASSERT_TABLE(baleen_transport_memory_t, would_take_operations, 40);

BALEEN_END

/* DRAFT. A transport: collectives over groups of ranks. Two steps: `prepare` at plan time, on every rank in one order, exchanges
 * addresses and compares arguments; `start` at run time enqueues. Leaves draft with the many-rank issue. */
#pragma once
#include "baleen/event.h"
#include "baleen/host.h"

BALEEN_BEGIN

typedef int32_t baleen_collective_t;
enum {
    BALEEN_ALL_REDUCE = 1, BALEEN_REDUCE_SCATTER, BALEEN_ALL_GATHER, BALEEN_BROADCAST, BALEEN_REDUCE,
    BALEEN_ALL_TO_ALL, BALEEN_PERMUTE, BALEEN_SEND, BALEEN_RECEIVE, BALEEN_BARRIER
};

typedef int32_t baleen_reduction_t;
enum { BALEEN_SUM = 1, BALEEN_MAXIMUM = 2 };

/* Contiguous memory inside a registered arena. A collective takes a list of them, so a bucket is a list. */
typedef struct baleen_buffer_t {
    void* data;
    uint64_t count; /* elements */
} baleen_buffer_t;

typedef struct baleen_collective_spec_t {
    uint64_t size;
    baleen_collective_t op;
    baleen_reduction_t reduction;
    baleen_dtype_t dtype;
    int32_t root; /* broadcast, reduce: rank in the group; permute, send, receive: the peer */
    const baleen_buffer_t* inputs;
    uint64_t input_count;
    const baleen_buffer_t* outputs;
    uint64_t output_count;
    uint32_t deterministic;
    uint32_t reserved;
    baleen_string_t where; /* place in the script, for messages */
} baleen_collective_spec_t;

/* How ranks meet before there is a transport: a small blocking store, given by the launcher. */
typedef struct baleen_rendezvous_t {
    uint64_t size;
    void* self;
    int32_t rank, ranks;
    baleen_status_t (*put)(void* self, baleen_string_t key, baleen_string_t value);
    /* Waits; returns bytes needed, writes at most `capacity`; -1 after `fail`. */
    int64_t (*get)(void* self, baleen_string_t key, char* value, uint64_t capacity);
} baleen_rendezvous_t;

/* The table of kind "transport". */
typedef struct baleen_transport_t {
    uint64_t size;
    baleen_status_t (*create)(const baleen_host_t* host, const baleen_settings_t* settings,
                              const baleen_rendezvous_t* rendezvous, void** transport);
    void (*destroy)(void* transport);
    /* Memory of the transport's own that peers map (shared memory); UNSUPPORTED: the compute plugin's arena is registered. */
    baleen_status_t (*allocate)(void* transport, uint64_t bytes, void** base);
    baleen_status_t (*register_arena)(void* transport, void* base, uint64_t bytes);
    /* Collective over the group's members; `ranks` ascending. */
    baleen_status_t (*group_create)(void* transport, const int32_t* ranks, uint64_t count, void** group);
    void (*group_destroy)(void* transport, void* group);
    baleen_status_t (*prepare)(void* transport, void* group, const baleen_collective_spec_t* spec, void** slot);
    /* Enqueues: begins when `after` reaches `after_value`, then signals `done`. Allocates nothing. */
    baleen_status_t (*start)(void* transport, void* slot, baleen_event_t* after, uint64_t after_value,
                             baleen_event_t* done, uint64_t done_value);
    /* All blocked calls on this rank return BALEEN_PEER_LOST. [any thread] */
    void (*abort)(void* transport, baleen_string_t reason);
    const void* (*query)(void* transport, baleen_string_t name);
} baleen_transport_t;
BALEEN_ASSERT_SIZE(baleen_transport_t, 88);

BALEEN_END

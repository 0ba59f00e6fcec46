/* An optimizer: a pure function of values to values. The core assigns, clips, skips and places; an optimizer only says
 * what the new parameter and the new slots are, by appending ops. */
#pragma once
#include "baleen/graph.h"
#include "baleen/host.h"

BALEEN_BEGIN

typedef uint32_t baleen_optimizer_traits_t;
enum {
    BALEEN_OPTIMIZER_ELEMENTWISE = 1u << 0 /* any slice may be updated alone: shards, chunks, parameter servers */
};

#define BALEEN_MAX_SLOTS 8

/* A tensor kept per parameter between steps ("m", "v"). Rank and shape are the parameter's unless `scalar`. Its name
 * ends within the array. */
typedef struct baleen_slot_t {
    char name[16];
    double initial;
    uint32_t scalar; /* 1: one number per parameter */
    uint32_t reserved;
} baleen_slot_t;
BALEEN_ASSERT_SIZE(baleen_slot_t, 32);

/* A slot of any shape (statistics of rows and columns, a matrix per dimension). A dimension that follows one of the
 * parameter has its extent, and is cut as it is cut, wherever the parameter is cut along that dimension; a dimension of
 * its own is whole on every rank unless a strategy cuts the slot. */
typedef struct baleen_shaped_slot_t {
    uint64_t size;
    baleen_string_t name; /* a word of at most 63 bytes; copied */
    double initial;
    uint32_t rank;
    uint32_t reserved;
    int64_t shape[BALEEN_MAX_RANK];
    int32_t follows[BALEEN_MAX_RANK]; /* per dimension: the parameter's dimension, or -1: one of its own */
} baleen_shaped_slot_t;
BALEEN_ASSERT_SIZE(baleen_shaped_slot_t, 136);

/* The parameter whose slots are asked for, and where they go. */
typedef struct baleen_slots_t {
    uint64_t size;
    baleen_string_t name; /* of the parameter */
    baleen_dtype_t dtype; /* of the parameter and of its slots */
    uint32_t rank;
    const int64_t* shape;
    const baleen_string_t* axes; /* logical axis of each dimension, "" if none */
    const baleen_settings_t* settings; /* of the parameter's group */
    void* self;
    void (*add)(void* self, const baleen_shaped_slot_t* slot); /* in order; at most BALEEN_MAX_SLOTS */
} baleen_slots_t;
BALEEN_ASSERT_TABLE(baleen_slots_t, add, 72);

/* One parameter that is to be updated. Values belong to the graph that the call is about. */
typedef struct baleen_update_t {
    uint64_t size;
    baleen_string_t name;
    baleen_value_t parameter;
    baleen_value_t gradient;  /* already clipped; the mean over the batch */
    baleen_value_t count;     /* scalar: updates applied so far, this one excluded (0 at the first) */
    uint32_t slot_count;
    const baleen_value_t* slots;
    const baleen_settings_t* settings; /* the parameter's group's; SCHEDULE options have `value` */
    baleen_value_t new_parameter;      /* out; any value of the right shape, an old one too */
    uint32_t reserved;
    baleen_value_t new_slots[BALEEN_MAX_SLOTS]; /* out; as above. The slot itself: it stays as it is */
} baleen_update_t;
BALEEN_ASSERT_SIZE(baleen_update_t, 96);

/* The table of kind "optimizer". [plan time, one thread]
 *
 * An update may take any ops (docs: layer_ops.md). Where tensors are in shards, each op runs where its operands lie, or
 * they are gathered first: the numbers are those of one rank. An op with the tag "whole" reads whole operands on every
 * rank; what is computed from its result is whole too, so a chain of products gathers once.
 * States that a member adds with the graph's `add_state` are assigned by its own `assign`s, and change only in steps
 * that count, as slots do. */
typedef struct baleen_optimizer_t {
    uint64_t size;
    baleen_status_t (*create)(const baleen_host_t* host, const baleen_settings_t* settings, void** optimizer);
    void (*destroy)(void* optimizer);
    baleen_optimizer_traits_t (*traits)(void* optimizer);
    /* The slots a parameter needs under these settings (momentum 0 needs none). Writes at most BALEEN_MAX_SLOTS. */
    baleen_status_t (*slots)(void* optimizer, const baleen_settings_t* settings, baleen_slot_t* out, uint32_t* count);
    /* Sees all updates before the first is made, in parameter order and `updates->size` bytes apart (base.h), to append
     * what they share. May be null. */
    baleen_status_t (*begin)(void* optimizer, const baleen_graph_t* graph, const baleen_update_t* updates,
                             uint64_t count);
    /* Appends the new parameter and the new slots. */
    baleen_status_t (*update)(void* optimizer, const baleen_graph_t* graph, baleen_update_t* update);
    /* Optional, from revision 2 on: asked in place of `slots`, once per parameter; slots of any shape. */
    baleen_status_t (*slots_of)(void* optimizer, const baleen_slots_t* parameter);
} baleen_optimizer_t;
BALEEN_ASSERT_TABLE(baleen_optimizer_t, slots_of, 64);
/* The functions in their order; an OPTIONAL one may be null. */
#define BALEEN_OPTIMIZER_FUNCTIONS(REQUIRED, OPTIONAL)                                                     \
    REQUIRED(create) REQUIRED(destroy) REQUIRED(traits) REQUIRED(slots) OPTIONAL(begin) REQUIRED(update) \
    OPTIONAL(slots_of)

BALEEN_END

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

/* A tensor kept per parameter between steps ("m", "v"). Rank and shape are the parameter's unless `scalar`. */
typedef struct baleen_slot_t {
    char name[16];
    double initial;
    uint32_t scalar; /* 1: one number per parameter */
    uint32_t reserved;
} baleen_slot_t;
BALEEN_ASSERT_SIZE(baleen_slot_t, 32);

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
    baleen_value_t new_parameter;      /* out */
    uint32_t reserved;
    baleen_value_t new_slots[BALEEN_MAX_SLOTS]; /* out */
} baleen_update_t;
BALEEN_ASSERT_SIZE(baleen_update_t, 96);

/* The table of kind "optimizer". [plan time, one thread] */
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
} baleen_optimizer_t;
BALEEN_ASSERT_TABLE(baleen_optimizer_t, update, 56);
/* The functions in their order; an OPTIONAL one may be null. */
#define BALEEN_OPTIMIZER_FUNCTIONS(REQUIRED, OPTIONAL)                                                   \
    REQUIRED(create) REQUIRED(destroy) REQUIRED(traits) REQUIRED(slots) OPTIONAL(begin) REQUIRED(update)

BALEEN_END

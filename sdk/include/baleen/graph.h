/* The graph as plugins see it: stable numbers and four verbs (read, append, redirect, set). */
#pragma once
#include "baleen/op.h"

BALEEN_BEGIN

typedef int32_t baleen_placement_kind_t;
enum {
    BALEEN_REPLICATE = 0,
    BALEEN_SHARD = 1,          /* argument: dimension; blocks of ceil(n/k) */
    BALEEN_SHARD_BALANCED = 2, /* argument: dimension; chunks r and 2k-1-r */
    BALEEN_SHARD_FLAT = 3,
    BALEEN_PARTIAL_SUM = 4,
    BALEEN_PARTIAL_MAX = 5,
    BALEEN_AT = 6 /* argument: coordinate */
};

/* Along one mesh axis. A layout is one placement per axis, in mesh order. Where several axes split one dimension, the
 * one of smaller depth is further out, and among equals the one that comes first in the mesh. */
typedef struct baleen_placement_t {
    baleen_placement_kind_t kind;
    int32_t argument;
    int32_t depth; /* 0: mesh order */
} baleen_placement_t;
BALEEN_ASSERT_SIZE(baleen_placement_t, 12);

typedef int32_t baleen_role_t;
enum {
    BALEEN_ROLE_ACTIVATION = 0, BALEEN_ROLE_INPUT, BALEEN_ROLE_PARAMETER, BALEEN_ROLE_STATE, BALEEN_ROLE_GRADIENT,
    BALEEN_ROLE_UPDATED, BALEEN_ROLE_SCALAR, BALEEN_ROLE_COPY
};

typedef struct baleen_value_info_t {
    uint64_t size;
    baleen_string_t name;
    baleen_dtype_t dtype;
    baleen_role_t role;
    uint32_t rank;
    baleen_op_t producer;
    int64_t shape[BALEEN_MAX_RANK];          /* global */
    baleen_string_t axes[BALEEN_MAX_RANK];   /* logical axis of each dimension, "" if none */
    const baleen_placement_t* layout;        /* null before `place` */
    uint64_t layout_count;
    const baleen_op_t* users;
    uint64_t user_count;
} baleen_value_info_t;
BALEEN_ASSERT_SIZE(baleen_value_info_t, 264);

typedef int32_t baleen_phase_t;
enum { BALEEN_PHASE_FORWARD = 0, BALEEN_PHASE_BACKWARD, BALEEN_PHASE_UPDATE };

/* What may be asked of an op's kind in place of its name. */
typedef uint32_t baleen_traits_t;
enum {
    BALEEN_TRAIT_POINTWISE = 1u << 0, /* carries an `expression` */
    BALEEN_TRAIT_VIEW = 1u << 1,      /* shows its operand's elements */
    BALEEN_TRAIT_REDUCTION = 1u << 2,
    BALEEN_TRAIT_SENSITIVE = 1u << 3, /* wants fp32 under mixed precision: norms, softmax, losses */
    BALEEN_TRAIT_PRODUCT = 1u << 4,   /* wants 16-bit operands under mixed precision: products, attention, lookups */
    BALEEN_TRAIT_TYPED = 1u << 5,     /* its attribute `dtype` may choose the dtype of its one, or last, result */
    BALEEN_TRAIT_STRUCTURAL = 1u << 6 /* has no kernel */
};

/* What an op is beside its kind and operands. */
typedef struct baleen_op_info_t {
    uint64_t size;
    baleen_phase_t phase;
    baleen_op_t twin; /* the forward op that a backward op belongs to, or BALEEN_NONE */
    baleen_traits_t traits;
    uint32_t reserved;
} baleen_op_info_t;
BALEEN_ASSERT_SIZE(baleen_op_info_t, 24);

/* A graph in the hands of one call of a plugin. [one thread, the duration of the call] Strings and arrays that come
 * back are valid until the graph changes. A call that returns a failure undoes all that the plugin's call changed. */
typedef struct baleen_graph_t {
    uint64_t size;
    void* self;
    uint32_t (*op_count)(void* self);    /* ids are below; deleted ones answer NOT_FOUND */
    uint32_t (*value_count)(void* self);
    baleen_status_t (*read_op)(void* self, baleen_op_t op, baleen_op_view_t* out);
    baleen_status_t (*read_value)(void* self, baleen_value_t value, baleen_value_info_t* out);
    /* Appends an op after its operands; `spec->outputs` is ignored; shapes are inferred; `outputs` receives as many ids
     * as the kind has results (at most `capacity`). Equal pure ops of one phase are merged: without `follow` a copy of
     * an op of this phase is that op itself. */
    baleen_status_t (*append)(void* self, const baleen_op_view_t* spec, baleen_value_t* outputs, uint64_t capacity);
    /* All users of `from` use `to` instead, except op `except` (or BALEEN_NONE). Types must agree. */
    baleen_status_t (*redirect)(void* self, baleen_value_t from, baleen_value_t to, baleen_op_t except);
    baleen_status_t (*set_layout)(void* self, baleen_value_t value, const baleen_placement_t* placements,
                                  uint64_t count);
    baleen_status_t (*set_tag)(void* self, baleen_op_t op, baleen_string_t key, baleen_string_t text);
    /* A persistent state that belongs to the job: saved in checkpoints, filled with `initial` at the start. */
    baleen_status_t (*add_state)(void* self, baleen_string_t name, baleen_dtype_t dtype, uint32_t rank,
                                 const int64_t* shape, double initial, baleen_value_t* out);
    baleen_status_t (*read_op_info)(void* self, baleen_op_t op, baleen_op_info_t* out);
    /* "" where the op has no such tag. */
    baleen_string_t (*tag)(void* self, baleen_op_t op, baleen_string_t key);
    /* What is appended from here on belongs with `op`: its phase, its forward op, its place in the script. */
    baleen_status_t (*follow)(void* self, baleen_op_t op);
    /* `op` reads `spec`'s inputs and has its attributes from here on; its kind, name, results and tags stay. The
     * results' dtypes are those that the kind gives them now, their shapes may not change. Ops that read a result whose
     * dtype has changed are to be amended in the same call of the plugin, if only with what they have. */
    baleen_status_t (*amend)(void* self, baleen_op_t op, const baleen_op_view_t* spec);
    /* `op`, which was appended in this call of the plugin, is executed right behind `other`, however late its result is
     * needed: so that what it reads need not be kept. Otherwise it would stand before the first op that needs it. */
    baleen_status_t (*place_behind)(void* self, baleen_op_t op, baleen_op_t other);
} baleen_graph_t;
BALEEN_ASSERT_TABLE(baleen_graph_t, place_behind, 128);

BALEEN_END

/* DRAFT. A parallel strategy: edits the graph and the schedule, phase by phase; every phase is optional. Leaves draft with
 * the many-rank issue, after data, ZeRO-3, SUMMA and 1F1B have been tried through it. */
#pragma once
#include "baleen/graph.h"
#include "baleen/host.h"

BALEEN_BEGIN

typedef struct baleen_axis_t {
    baleen_string_t name;
    int64_t size;
} baleen_axis_t;

typedef struct baleen_mesh_t {
    uint64_t size;
    const baleen_axis_t* axes; /* outermost first */
    uint64_t count;
} baleen_mesh_t;

/* The schedule verbs of the last phase: orders, streams, fused buckets, what happens once per step, what is carried. */
typedef struct baleen_schedule_t {
    uint64_t size;
    void* self;
    baleen_status_t (*after)(void* self, baleen_op_t op, baleen_op_t earlier);
    baleen_status_t (*stream)(void* self, baleen_op_t op, uint32_t stream);
    baleen_status_t (*coalesce)(void* self, const baleen_op_t* ops, uint64_t count);
    baleen_status_t (*sink)(void* self, baleen_op_t op);
    baleen_status_t (*carry)(void* self, baleen_value_t value);
    uint32_t (*position)(void* self, baleen_op_t op);
    uint64_t (*peak_bytes)(void* self, baleen_string_t place);
} baleen_schedule_t;

/* The table of kind "strategy". [plan time, one thread; same calls in the same order on every rank] */
typedef struct baleen_strategy_t {
    uint64_t size;
    baleen_status_t (*create)(const baleen_host_t* host, const baleen_settings_t* settings, const baleen_mesh_t* mesh,
                              void** strategy);
    void (*destroy)(void* strategy);
    baleen_status_t (*tag)(void* strategy, const baleen_graph_t* graph);
    baleen_status_t (*rewrite)(void* strategy, const baleen_graph_t* graph);
    baleen_status_t (*place)(void* strategy, const baleen_graph_t* graph);
    baleen_status_t (*recompute)(void* strategy, const baleen_graph_t* graph);
    baleen_status_t (*lower)(void* strategy, const baleen_graph_t* graph);
    baleen_status_t (*schedule)(void* strategy, const baleen_graph_t* graph, const baleen_schedule_t* schedule);
} baleen_strategy_t;
BALEEN_ASSERT_SIZE(baleen_strategy_t, 72);

BALEEN_END

/* A parallel strategy: asks for layouts, edits the graph and orders its collectives, phase by phase; every phase is
 * optional. This interface is a draft: see kind.h. */
#pragma once
#include "baleen/graph.h"
#include "baleen/host.h"

#define BALEEN_MAX_SPLIT 4
#define BALEEN_MAX_AHEAD 64
#define BALEEN_LATE_GRADIENT ".late_gradient" /* behind a parameter's name: baleen_gradients_t.delay_update */
#define BALEEN_PIECE_BYTES 524288 /* so that any dtype has whole blocks of a store in it */

BALEEN_BEGIN

/* An axis of the mesh; its number is its place, from the outermost. */
typedef struct baleen_axis_t {
    baleen_string_t name;
    int64_t size;
} baleen_axis_t;
BALEEN_ASSERT_SIZE(baleen_axis_t, 24);

typedef struct baleen_mesh_t {
    uint64_t size;
    const baleen_axis_t* axes;
    uint64_t count;
} baleen_mesh_t;
BALEEN_ASSERT_SIZE(baleen_mesh_t, 24);

/* How one axis of the mesh becomes several, outermost first; the product of the parts' sizes is the axis's. */
typedef struct baleen_axis_split_t {
    uint64_t size;
    uint32_t axis;
    uint32_t count; /* of parts; 0: no axis is split */
    baleen_axis_t parts[BALEEN_MAX_SPLIT]; /* the part `row` of `tensor` is called `tensor.row`; names are static */
} baleen_axis_split_t;
BALEEN_ASSERT_SIZE(baleen_axis_split_t, 112);

/* The values of one parameter that the job trains. */
typedef struct baleen_trained_t {
    uint64_t size;
    baleen_value_t parameter;
    baleen_value_t gradient; /* as ranks sum it, before clipping */
    const baleen_value_t* states; /* the optimizer's slots; valid during the call */
    uint64_t state_count;
} baleen_trained_t;
BALEEN_ASSERT_SIZE(baleen_trained_t, 32);

/* The gradient of one parameter that the job trains, between differentiation and the update. */
typedef struct baleen_gradient_t {
    uint64_t size;
    baleen_string_t name; /* of the parameter */
    baleen_value_t parameter;
    baleen_value_t gradient; /* as ranks sum it and micro-batches add it up, in its dtype */
    baleen_value_t value;    /* what clipping and the optimizer read; made of `gradient`, often it itself */
    uint32_t reserved;
} baleen_gradient_t;
BALEEN_ASSERT_SIZE(baleen_gradient_t, 40);

/* The verbs of `gradients`. Here a strategy may add states to the graph, which it appends `assign`s for. */
typedef struct baleen_gradients_t {
    uint64_t size;
    void* self;
    baleen_value_t seed; /* the loss's own cotangent, from which the backward pass starts */
    baleen_dtype_t dtype; /* of the job: what parameters and states are stored in */
    uint64_t (*count)(void* self);
    baleen_status_t (*read)(void* self, uint64_t number, baleen_gradient_t* out);
    /* Another gradient, and another value made of it, of the parameter's shape; the value of its dtype. */
    baleen_status_t (*replace)(void* self, uint64_t number, baleen_value_t gradient, baleen_value_t value);
    /* The norm of all that the update reads, a scalar that is the same on all ranks. No `replace` after it. */
    baleen_status_t (*norm)(void* self, baleen_value_t* out);
    /* The update counts only where the scalar `condition`, the same on all ranks, is not 0: else all parameters, all
     * slots and the count of updates stay as they are. Where several strategies have one, all conditions must hold. */
    baleen_status_t (*apply)(void* self, baleen_value_t condition);
    /* Monitors and the closing summary show the scalar under `name`. */
    baleen_status_t (*show)(void* self, baleen_string_t name, baleen_value_t scalar);
    /* The run ends with `text` after a step in which the scalar is not 0. */
    baleen_status_t (*stop)(void* self, baleen_value_t condition, baleen_string_t text);
    /* As the graph's `add_state`, of terms that ranks keep, one per index of dimension 0, of which the sum alone has
     * a meaning: a run with another number of them that resumes from a checkpoint has the sum in the first, 0 in the
     * others. */
    baleen_status_t (*add_terms)(void* self, baleen_string_t name, baleen_dtype_t dtype, uint32_t rank,
                                 const int64_t* shape, double initial, baleen_value_t* out);
    /* What ranks sum of this gradient is an approximation, off by some `share` of its norm; where what is left out is
     * added in later steps, infinity. `baleen verify` allows four times as much, as ranks' terms may be larger than
     * their mean, and judges what the update makes of it. Of several that say so their sum. */
    baleen_status_t (*approximate)(void* self, uint64_t number, double share);
    /* A step of the training makes the update of the step before, whose gradients, factor of clipping and condition are
     * kept in states (Ren et al., arXiv 2101.06840, section 5.2). So it need not wait for the backward pass; it runs in
     * the midst of it where there is one micro-batch. The first step makes none; what the last one found is left.
     * Schedules and the count of updates are those of the update that is made. `baleen verify` compares with the script
     * alone whose updates are as late. Programs that learn beside the training are left as they are. What a
     * parameter's gradient is kept in is named by it and BALEEN_LATE_GRADIENT. */
    baleen_status_t (*delay_update)(void* self);
} baleen_gradients_t;
BALEEN_ASSERT_TABLE(baleen_gradients_t, delay_update, 104);

/* A further candidate for one op along `axes`. The strategy that adds it lowers it, unless the op runs on the
 * pieces unmodified. */
typedef struct baleen_candidate_t {
    uint64_t size;
    baleen_op_t op;
    uint32_t exclusive; /* the op has no other candidate on these axes */
    uint32_t run_unmodified; /* nobody lowers it */
    uint32_t reserved;
    baleen_string_t name; /* a backward op takes the candidate whose name its forward op took */
    const uint32_t* axes; /* mesh axes it decides, ascending */
    uint64_t axis_count;
    const baleen_placement_t* inputs;  /* axis by axis: a placement per input of the op */
    const baleen_placement_t* outputs; /* axis by axis: a placement per result */
    double bytes; /* sent per rank, over all its axes */
} baleen_candidate_t;
BALEEN_ASSERT_SIZE(baleen_candidate_t, 80);

/* What a closed form is of. HELD: the share of a value's bytes that a rank has along an axis, of parameters and states
 * between steps, of compute copies, of a gradient at the update, of a forward value that the backward pass reads. LEFT:
 * the share along an axis of what strategies send of the value along other axes, where it is not as HELD: a gradient
 * that is summed in shards, a parameter that is gathered before it is used. SENT: how often a rank sends along `axes`,
 * in a step, the bytes that all other axes leave of a value. */
typedef int32_t baleen_form_t;
enum { BALEEN_FORM_HELD = 0, BALEEN_FORM_LEFT = 1, BALEEN_FORM_SENT = 2 };

/* A cost in closed form, from what the strategy is said to do and not from the layouts that propagation finds. `baleen
 * plan` multiplies what all strategies say of a value, over all axes, and puts the sum beside what is planned. */
typedef struct baleen_closed_form_t {
    uint64_t size;
    baleen_form_t what;
    baleen_value_t value;
    const uint32_t* axes; /* of the mesh, ascending; HELD, LEFT: one, or none for what no axis does, as a dtype */
    uint64_t axis_count;
    double times;            /* 0 or more, finite */
    baleen_string_t formula; /* for people, with its source: "16 P/N (arXiv 1910.02054, table 1)" */
} baleen_closed_form_t;
BALEEN_ASSERT_SIZE(baleen_closed_form_t, 56);

/* The verbs of `place`. Mesh axes are numbers. What is not asked for stays: parameters and states replicated, other
 * values as propagation finds them. Strategies may ask for the same; where two ask for unlike compute shardings,
 * storage shardings or constraints of one value along one axis of several ranks, the plan is refused. */
typedef struct baleen_placing_t {
    uint64_t size;
    void* self;
    const baleen_mesh_t* mesh;
    uint64_t micro_batches; /* into which each step's batch is cut */
    /* Dimensions with this logical axis may be sharded along the mesh axis; "": those without one. */
    baleen_status_t (*allow_sharding)(void* self, uint32_t axis, baleen_string_t logical_axis);
    /* How forward and backward see a parameter. */
    baleen_status_t (*set_compute_sharding)(void* self, baleen_value_t parameter, uint32_t axis,
                                            baleen_placement_t placement);
    /* How a parameter or state lies between steps. */
    baleen_status_t (*set_storage_sharding)(void* self, baleen_value_t value, uint32_t axis,
                                            baleen_placement_t placement);
    /* How an input, an activation or a gradient lies. `every_micro_batch`: converted along this axis in each, not once
     * after accumulation; along other axes that reduce it later once, unless they ask for the same. */
    baleen_status_t (*constrain)(void* self, baleen_value_t value, uint32_t axis, baleen_placement_t placement,
                                 uint32_t every_micro_batch);
    /* Another way to run an op. Placements that cannot be are refused here. An op that runs unmodified and has an
     * operand at one coordinate of an axis has all operands and results there. */
    baleen_status_t (*add_candidate)(void* self, const baleen_candidate_t* candidate);
    uint64_t (*trained_count)(void* self);
    baleen_status_t (*trained)(void* self, uint64_t number, baleen_trained_t* out);
    /* What an op does for the whole batch on the whole mesh, by its kind's cost rule: arithmetic (multiply and add are
     * two), and bytes read and written at least. */
    baleen_status_t (*cost)(void* self, baleen_op_t op, double* flops, double* bytes);
    /* What a rank should hold or send of a value. It changes no plan. What is said of one value twice is multiplied
     * (HELD, LEFT) or added up (SENT). A kind of cost is shown where strategies speak of all its values along every
     * axis of several ranks, with `times` 1 where they leave a value whole. */
    baleen_status_t (*expect)(void* self, const baleen_closed_form_t* form);
} baleen_placing_t;
BALEEN_ASSERT_TABLE(baleen_placing_t, expect, 104);

/* The verbs of `recompute`. The graph has layouts and collectives by now; on one rank, which has no mesh, neither. */
typedef struct baleen_recompute_t {
    uint64_t size;
    void* self;
    const baleen_mesh_t* mesh;
    uint64_t micro_batches; /* of a step */
    /* Where an op stands in the order of execution. BALEEN_NONE for none. */
    uint32_t (*position)(void* self, baleen_op_t op);
    /* Bytes that one rank holds of a value of the whole batch: the most of any. */
    uint64_t (*local_bytes)(void* self, baleen_value_t value);
    /* The most that a rank holds at once in the forward and the backward pass beside model states and gradients of
     * parameters, if these forward ops run again: results of all ops that run, as micro-batches cut them and pointwise
     * ops are fused, after all strategies' `lower` and `schedule`, which are tried on a copy of the graph. What kernels
     * need for themselves is not in it. Changes nothing. */
    baleen_status_t (*peak)(void* self, const baleen_op_t* ops, uint64_t count, uint64_t* bytes);
    /* These forward ops run again in the backward pass, in any number of calls: what backward ops read of their results
     * is a copy, made right before the first that needs it, so the first results need not be kept. Copies read copies
     * where there are some, and parameters as they are gathered for the backward pass. An op whose results no backward
     * op needs is not copied. An op that another strategy lowers is refused: it has the tag "owner". */
    baleen_status_t (*recompute)(void* self, const baleen_op_t* ops, uint64_t count);
    /* As in `schedule`. */
    baleen_status_t (*note)(void* self, baleen_string_t text);
    uint64_t budget; /* bytes that the manifest allows a rank beside model states; 0: it does not say */
    /* What an op computes in a step on one rank, of those that have it; a multiply and an add are two. 0 where its kind
     * does not say. */
    double (*flops)(void* self, baleen_op_t op);
} baleen_recompute_t;
BALEEN_ASSERT_TABLE(baleen_recompute_t, flops, 88);

/* One pass of a micro-batch. WEIGHT_GRADIENTS: what of the backward pass makes gradients of parameters alone, which no
 * earlier op waits for (zero bubble pipelines: Qi et al., arXiv 2401.10241). A schedule without it does that part right
 * behind the rest of the backward pass. */
typedef int32_t baleen_pass_t;
enum { BALEEN_PASS_FORWARD = 0, BALEEN_PASS_BACKWARD = 1, BALEEN_PASS_WEIGHT_GRADIENTS = 2 };
typedef struct baleen_pipeline_action_t {
    baleen_pass_t pass;
    uint32_t micro_batch;
    uint32_t chunk; /* of the model, as `set_chunk` numbers the ops of this rank; 0 where nothing is said */
    uint32_t reserved;
} baleen_pipeline_action_t;
BALEEN_ASSERT_SIZE(baleen_pipeline_action_t, 16);

/* The verbs of `schedule`. Collectives are ops by now: `all_reduce`, `reduce_scatter`, `all_gather`, ... with the
 * attribute "axes": the numbers of their mesh axes, ascending. One rank has none. */
typedef struct baleen_schedule_t {
    uint64_t size;
    void* self;
    const baleen_mesh_t* mesh;
    uint64_t micro_batches; /* of a step */
    /* Where an op stands in the order of execution. BALEEN_NONE for none. */
    uint32_t (*position)(void* self, baleen_op_t op);
    /* Bytes that one rank holds of a value: the most of any. */
    uint64_t (*local_bytes)(void* self, baleen_value_t value);
    /* Runs collectives of one kind, along the same axes, of one dtype, as one: it starts when the last is ready.
     * They stand in order of position; none may depend on another. */
    baleen_status_t (*coalesce)(void* self, const baleen_op_t* ops, uint64_t count);
    /* A collective begins right before `other`, rather than as soon as its operands are made; it stands there from
     * then on, and belongs to its phase. Its operands must be made before, its users come after. Those that run as
     * one go to one place. */
    baleen_status_t (*start_before)(void* self, baleen_op_t op, baleen_op_t other);
    /* A collective is waited for, at the latest, when the collective `other` begins, rather than where its result is
     * first read: what it reads need not live longer. `other` comes later. */
    baleen_status_t (*must_complete_before)(void* self, baleen_op_t op, baleen_op_t other);
    /* An op that is the same for all micro-batches runs in each of them, rather than once per step: its result is
     * not kept between. */
    baleen_status_t (*every_micro_batch)(void* self, baleen_op_t op);
    /* The order in which ranks at `coordinate` of `axis` do the passes of their micro-batches, where it is not each
     * micro-batch forward and backward before the next. Every pass of every micro-batch and chunk once, those of one
     * pass and chunk ascending. Of one micro-batch: chunks ascend in the forward pass and descend in the backward pass,
     * forward before backward before weight gradients. What lives from one pass to the other has as many copies as
     * micro-batches are on their way between the two. */
    baleen_status_t (*set_pipeline_schedule)(void* self, uint32_t axis, int64_t coordinate,
                                             const baleen_pipeline_action_t* actions, uint64_t count);
    /* Tells the user a line about the plan: once per job, however many graphs and ranks say the same. */
    baleen_status_t (*note)(void* self, baleen_string_t text);
    /* An op of the forward or backward pass belongs to a chunk of the model, of several that its ranks hold in turn
     * (interleaved pipelines: Narayanan et al., arXiv 2104.04473). Where nothing is said a forward op belongs to the
     * last chunk of what it reads; a backward op to that of its forward op, else to the first chunk of what it reads,
     * but never to one that comes after what reads it. */
    baleen_status_t (*set_chunk)(void* self, baleen_op_t op, uint32_t chunk);
    /* A value lies in the job's offload store (offload.h) between its uses; in the device's memory it has
     * a buffer from the beginning of a get to its last use, or to the end of a put where it was assigned. It is got
     * while the `ahead` uses of such values in front of its own run, in the order of the program; 1 to
     * BALEEN_MAX_AHEAD. Where more uses than these lie between two of its own, the buffer is given up and it is got
     * again; in each micro-batch anew. Refused: a state that is read before the update or not assigned exactly once; a
     * parameter that is assigned more than once; later on, a state that another graph of the job reads.
     * A value that an op makes (a gradient, an activation) lies there from then on until it is used far from there, if
     * it ever is; a sum over micro-batches between their turns too. It stays in the device's memory where it is an
     * output, where a pipeline's order of micro-batches keeps several of it, and where a collective that begins in one
     * micro-batch uses it beyond. */
    baleen_status_t (*set_offloaded)(void* self, baleen_value_t value, uint32_t ahead);
    /* Bytes of the device's memory that the rank lacks which lacks most, as this plan was where the number was 0; more
     * where what strategies did about it was too little. A job in which a strategy asks is planned again with larger
     * numbers until every rank has enough, or none of them says that it could do more. The same number on all ranks
     * and in all graphs of a plan, but 0 in a graph that is planned for its layouts alone. */
    uint64_t (*lacking_bytes)(void* self);
    /* With a larger number it would do more. */
    void (*could_do_more)(void* self);
    /* An update that computes elements of the value, which was said to be offloaded, from elements at the same places
     * does so piece by piece, where all that it computes with is elementwise: of each operand in the store one piece of
     * about so many bytes is got, and put, at a time. A multiple of BALEEN_PIECE_BYTES. */
    baleen_status_t (*update_in_pieces)(void* self, baleen_value_t value, uint64_t bytes);
    /* An update that computes elements of the value, which was said to be offloaded, from elements at the same places
     * runs where the value lies: on the host's cores, in the memory of its slot, where the job's store maps its slots;
     * else the device makes it. What it reads and writes of the device is copied. Of states and parameters. */
    baleen_status_t (*update_on_host)(void* self, baleen_value_t value);
} baleen_schedule_t;
BALEEN_ASSERT_TABLE(baleen_schedule_t, update_on_host, 144);

/* The table of kind "strategy". [plan time, one thread; same calls in the same order on every rank] */
typedef struct baleen_strategy_t {
    uint64_t size;
    /* Optional; before any strategy is created. `mesh` is the manifest's, as earlier strategies of the plan have
     * split it. Ranks keep their numbers. A strategy that stands in no plan and works along the axis of its name is
     * not asked. */
    baleen_status_t (*split)(const baleen_host_t* host, const baleen_settings_t* settings, const baleen_mesh_t* mesh,
                             baleen_axis_split_t* out);
    /* `mesh` has all splits; it outlives the strategy. */
    baleen_status_t (*create)(const baleen_host_t* host, const baleen_settings_t* settings, const baleen_mesh_t* mesh,
                              void** strategy);
    void (*destroy)(void* strategy);
    /* Whether it works along a mesh axis; asked once per axis. An axis that no strategy of the plan claims goes to the
     * strategy of its name; one of several ranks that two claim is refused: who helps another along its axis does not
     * claim it. */
    uint32_t (*claims)(void* strategy, uint32_t axis);
    /* `tag` and `rewrite` see forward graphs. Three tags of ops have a meaning here:
     * - "no_fuse": the op is not replaced by a fused form that its kind offers.
     * - "whole": each rank reads the whole operands of the op (an optimizer says so).
     * - "compute_copy": the op makes a compute copy of a parameter, for example in 16 bits. It is a pointwise op
     *   whose only input is the parameter; its one result has the parameter's shape. It runs once per step, on the
     *   part of the parameter that the rank stores. From the next phase on the result has the role PARAMETER and the
     *   layouts of the parameter. */
    baleen_status_t (*tag)(void* strategy, const baleen_graph_t* graph);
    baleen_status_t (*rewrite)(void* strategy, const baleen_graph_t* graph);
    /* After differentiation, before the update; the train graph only. */
    baleen_status_t (*gradients)(void* strategy, const baleen_graph_t* graph, const baleen_gradients_t* gradients);
    baleen_status_t (*place)(void* strategy, const baleen_graph_t* graph, const baleen_placing_t* placing);
    /* On one rank `place` and `lower` are not called: there is nothing to lay out. `lower` and `schedule` are also
     * called on copies of the graph that are thrown away, where a strategy asks for the `peak`: one after the other,
     * any number of times, before they are called for good. */
    baleen_status_t (*recompute)(void* strategy, const baleen_graph_t* graph, const baleen_recompute_t* recompute);
    baleen_status_t (*lower)(void* strategy, const baleen_graph_t* graph);
    baleen_status_t (*schedule)(void* strategy, const baleen_graph_t* graph, const baleen_schedule_t* schedule);
    /* The train graph is planned next, as it runs from `step` on: 0, and each step that an earlier call gave as `next`,
     * the first later step from which it is to be planned anew; 0, as it is before the call: none. Each form has all
     * states that any form adds. Other graphs are planned after its last form. */
    baleen_status_t (*begin)(void* strategy, uint64_t step, uint64_t* next);
    /* Behind the last graph of a plan of all graphs of the job: what options name and no graph has is refused here. */
    baleen_status_t (*finish)(void* strategy);
} baleen_strategy_t;
BALEEN_ASSERT_TABLE(baleen_strategy_t, finish, 112);
/* The functions in their order; an OPTIONAL one may be null. */
#define BALEEN_STRATEGY_FUNCTIONS(REQUIRED, OPTIONAL)                                                   \
    OPTIONAL(split) REQUIRED(create) REQUIRED(destroy) REQUIRED(claims) OPTIONAL(tag) OPTIONAL(rewrite) \
    OPTIONAL(gradients) OPTIONAL(place) OPTIONAL(recompute) OPTIONAL(lower) OPTIONAL(schedule)      \
    OPTIONAL(begin) OPTIONAL(finish)

BALEEN_END

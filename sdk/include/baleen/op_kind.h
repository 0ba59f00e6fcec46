/* Kinds of ops from a plugin of kind "op": what the compiler must know of each, and what the layers' authors see.
 * This interface is a draft (kind.h): a plugin is built again for each revision of it. */
#pragma once
#include "baleen/compute.h"
#include "baleen/graph.h"
#include "baleen/host.h"

BALEEN_BEGIN

/* The type of an operand or a result: of the whole batch on the whole mesh. */
typedef struct baleen_value_type_t {
    uint64_t size;
    baleen_dtype_t dtype;
    uint32_t rank;
    int64_t shape[BALEEN_MAX_RANK];
    baleen_string_t axes[BALEEN_MAX_RANK]; /* logical axis of each dimension, "" if none */
} baleen_value_type_t;
BALEEN_ASSERT_SIZE(baleen_value_type_t, 208);

typedef uint32_t baleen_operand_flags_t;
enum {
    /* May be left out. Optional operands stand in one run, and required ones before and behind it: so their number
     * tells which of them are there, the first of the run. Optional results stand last. */
    BALEEN_OPERAND_OPTIONAL = 1u << 0,
    BALEEN_OPERAND_FLOATING = 1u << 1, /* fp32, fp64 or 16 bits; fp64 meets fp64 only */
    BALEEN_OPERAND_IDS = 1u << 2,      /* int32. Without either: any dtype */
    BALEEN_OPERAND_TOGETHER = 1u << 3, /* optional: there if the one before it is, and only then */
    BALEEN_RESULT_INTERNAL = 1u << 4,  /* of results: for the kind's own gradient; scripts do not get it */
    BALEEN_OPERAND_MANY = 1u << 5,     /* the last operand, or result: any number, none too. Of DERIVED kinds alone;
                                        * no other operand, or result, is optional */
    BALEEN_OPERAND_FP8 = 1u << 6       /* with FLOATING: 8 bits too */
};

typedef struct baleen_operand_t {
    baleen_string_t name; /* a word, as authors of layers and messages use it */
    baleen_string_t help; /* one line; may give the shape */
    baleen_operand_flags_t flags; /* of results: OPTIONAL, MANY and INTERNAL alone */
    uint32_t reserved;
} baleen_operand_t;
BALEEN_ASSERT_SIZE(baleen_operand_t, 40);

typedef uint32_t baleen_rule_type_t;
enum {
    BALEEN_RULE_INTEGER = 1,
    BALEEN_RULE_INTEGERS = 2,
    BALEEN_RULE_NUMBER = 3,
    BALEEN_RULE_BOOLEAN = 4,   /* an integer, 0 or 1 */
    BALEEN_RULE_TEXT = 5,
    BALEEN_RULE_DIMENSION = 6, /* below the rank of the first operand; scripts count from 1, -1 is the last */
    BALEEN_RULE_DIMENSIONS = 7,
    BALEEN_RULE_EXPRESSION = 8, /* not from scripts */
    BALEEN_RULE_DTYPE = 9,      /* a floating baleen_dtype_t; scripts write its name, "bf16" */
    BALEEN_RULE_DTYPES = 10     /* a list of any baleen_dtype_t; not from scripts */
};

/* One attribute of a kind. Where it is not given it has the default; without a default it is required. */
typedef struct baleen_attribute_rule_t {
    baleen_string_t name;
    baleen_string_t default_value; /* as a script writes it ("0.5", "true", "layer"); "" with `optional` 0: required */
    baleen_string_t choices;       /* TEXT: allowed words separated by '|'; "" for any */
    baleen_string_t help;          /* one line */
    double minimum, maximum;       /* INTEGER, INTEGERS, NUMBER; minimum > maximum means no range */
    baleen_rule_type_t type;
    uint32_t optional; /* 1: may be missing and then is (with a default it never is) */
} baleen_attribute_rule_t;
BALEEN_ASSERT_SIZE(baleen_attribute_rule_t, 88);

typedef uint32_t baleen_kind_traits_t;
enum {
    BALEEN_KIND_PURE = 1u << 0,      /* equal operands and attributes give equal results: may be merged and dropped */
    BALEEN_KIND_SENSITIVE = 1u << 2, /* wants fp32 under mixed precision (norms, softmax, losses) */
    BALEEN_KIND_PRODUCT = 1u << 3,   /* wants 16-bit operands under mixed precision (products, lookups) */
    BALEEN_KIND_REDUCTION = 1u << 4, /* devices may compute the pointwise ops that make its operands inside it */
    BALEEN_KIND_CONTRACTION = 1u << 5, /* devices may compute the pointwise op that reads its result inside it */
    BALEEN_KIND_TYPED = 1u << 6, /* has an optional attribute `dtype`: of its one result, or its last (RULE_DTYPE), or
                                  * one for all results or each (RULE_DTYPES) */
    BALEEN_KIND_DERIVED = 1u << 7 /* made by other kinds' rules, or by passes: its schema gives scripts no function */
};

/* What a shape rule reads, and where it writes. The attributes have passed the schema, defaults are filled in. */
typedef struct baleen_infer_t {
    uint64_t size;
    const baleen_value_type_t* inputs; /* elements are `stride` bytes apart */
    uint64_t input_count;
    uint64_t stride;
    const baleen_attribute_t* attributes;
    uint64_t attribute_count;
    void* self;
    void (*result)(void* self, const baleen_value_type_t* type); /* in order, once per result; copied */
} baleen_infer_t;
BALEEN_ASSERT_TABLE(baleen_infer_t, result, 64);

/* Receives a kind's letters: one per dimension of every operand, equal letters run together; '.' is a dimension that
 * may not be cut. The extents behind one letter may differ (grouped heads): a cut divides each. All is copied. */
typedef struct baleen_iteration_t {
    uint64_t size;
    void* self;
    void (*input)(void* self, baleen_string_t letters);  /* in order, once per operand */
    void (*output)(void* self, baleen_string_t letters); /* in order, once per result */
    /* The op is jointly linear in these operands: sums over ranks pass through it. */
    void (*linear)(void* self, const uint32_t* inputs, uint64_t count);
    /* A letter that lacks in a result and does not make it partial, since the op reduces `count` intermediates of the
     * letters `over` itself (a norm's statistics). Such a kind has `expand`. */
    void (*internal)(void* self, char letter, baleen_string_t over, uint32_t count);
} baleen_iteration_t;
BALEEN_ASSERT_TABLE(baleen_iteration_t, internal, 48);

typedef struct baleen_cost_t {
    uint64_t size;
    double flops; /* multiply and add are two */
    double bytes; /* read and written at least */
} baleen_cost_t;
BALEEN_ASSERT_SIZE(baleen_cost_t, 24);

/* A call of `fuse`. */
typedef struct baleen_fuse_t {
    uint64_t size;
    baleen_value_t* results; /* room for the op's results, for the rule to fill */
    uint32_t found;          /* 0, for the rule to set */
    uint32_t reserved;
    void* self;
    /* Whether the graph gives the value out, beside the ops that read it: "logits", a loss. */
    uint32_t (*is_output)(void* self, baleen_value_t value);
} baleen_fuse_t;
BALEEN_ASSERT_TABLE(baleen_fuse_t, is_output, 40);

/* An op that stands for two. The pointers stay good until the next call of the kind on this thread. */
typedef struct baleen_join_t {
    uint64_t size;
    baleen_op_t with; /* the earlier one of the two; BALEEN_NONE: there is nothing to join */
    uint32_t reserved;
    baleen_op_view_t op;           /* `outputs` are the values that its results are put in the place of */
} baleen_join_t;
BALEEN_ASSERT_SIZE(baleen_join_t, 104);

/* One execution on the host's processors. All pointers are the caller's. */
typedef struct baleen_cpu_call_t {
    uint64_t size;
    const baleen_op_view_t* op;     /* its operands and results number `tensors` */
    const baleen_tensor_t* tensors; /* any strides may come */
    uint64_t tensor_count;
    void* const* addresses; /* one per tensor */
    uint64_t seed, step, micro;
    void* pool;
    /* Runs task(context, i) for each i < count on the device's threads, in any order, and returns when all are done.
     * The result must not depend on which thread does what. */
    void (*parallel)(void* pool, uint64_t count, void (*task)(void* context, uint64_t i), void* context);
} baleen_cpu_call_t;
BALEEN_ASSERT_TABLE(baleen_cpu_call_t, parallel, 80);

/* What a CUDA kernel is asked for. All pointers are the caller's. */
typedef struct baleen_cuda_request_t {
    uint64_t size;
    const baleen_op_view_t* op;     /* its operands and results number `tensors` */
    const baleen_tensor_t* tensors; /* any strides may come */
    uint64_t tensor_count;
    uint64_t shared_bytes;       /* dynamic shared memory that a block may have at most */
    uint32_t compute_capability; /* of the device: 90 is 9.0 */
    uint32_t reserved;
} baleen_cuda_request_t;
BALEEN_ASSERT_SIZE(baleen_cuda_request_t, 48);

/* A CUDA kernel as text in CUDA C++17, and its launch. Pointers stay good until the next call of the kind on this
 * thread. NVRTC compiles the text for the device, without contraction to FMA, behind these declarations, which are all
 * that is there beside CUDA's own functions (headers are not):
 *   BALEEN_KERNEL(threads, entry, baleen::Args) { ... }
 *                            the kernel `entry`, for blocks of at most so many threads; its one argument is `args`:
 *     args.tensor[i]         void*: the address of tensor i of the request
 *     args.seed, args.step, args.micro
 *                            unsigned long long: as in baleen_launch_t
 *   BALEEN_SHARED_MEMORY()   unsigned char*: the block's dynamic shared memory, at a multiple of 16 bytes
 *   baleen::bf16, baleen::f16
 *                            elements of 16 bits as they are stored
 *   baleen::widen(x)         a 16-bit element in fp32; a float or double as it is
 *   baleen::narrow<T>(x)     a float or double as a T (float, double, bf16, f16), rounded once to nearest even
 *   baleen::philox(element, step, key)
 *                            random bits, .x0 and .x1 (expression.h)
 * The kernel computes as compute.h says of regions, writes the results and nothing else, and its results do not depend
 * on the order in which threads run. */
typedef struct baleen_cuda_text_t {
    uint64_t size;
    baleen_string_t source;
    baleen_string_t entry;
    uint64_t blocks[3];    /* of the grid: x to 2^31 - 1, y and z to 65535; nothing is launched where one is 0 */
    uint64_t shared_bytes; /* dynamic, of a block */
    uint32_t threads;      /* of a block, which has one dimension: 1 to 1024 */
    uint32_t reserved;
    baleen_string_t reason; /* where the call fails: why */
} baleen_cuda_text_t;
BALEEN_ASSERT_SIZE(baleen_cuda_text_t, 96);

/* One kind. Functions are called at plan time on one thread; those after `infer` may be null where not said otherwise.
 * A rule that appends to the graph is undone as a whole where it fails. */
typedef struct baleen_op_kind_t {
    uint64_t size;
    void* self; /* handed to each function */
    baleen_string_t name; /* a word, unique among all kinds; also the Lua function's name */
    baleen_string_t help; /* one line: what it computes */
    const baleen_operand_t* operands;
    uint64_t operand_count;
    const baleen_operand_t* results;
    uint64_t result_count;
    const baleen_attribute_rule_t* attributes;
    uint64_t attribute_count;
    baleen_kind_traits_t traits;
    uint32_t reserved;
    /* Checks what the schema cannot say, and gives the results' types. The text of a failure says what does not fit;
     * where it does not begin with the kind's name it gets it. */
    baleen_status_t (*infer)(void* self, const baleen_infer_t* context);
    /* Appends the gradient of `op`: given the results' cotangents (BALEEN_NONE where none flows), writes the operands'
     * into `out` (BALEEN_NONE where none), which has room for as many. wanted[i]: whether operand i's is needed. A
     * cotangent has its operand's shape and dtype. Null: not differentiable. */
    baleen_status_t (*gradient)(void* self, const baleen_graph_t* graph, baleen_op_t op,
                                const baleen_value_t* cotangents, const uint8_t* wanted, baleen_value_t* out);
    /* Depends on the attributes and on the types of operands and results alone: it is asked once of each op. Null: no
     * dimension may be cut. */
    baleen_status_t (*iteration)(void* self, const baleen_graph_t* graph, baleen_op_t op,
                                 const baleen_iteration_t* out);
    /* Null: no arithmetic, every operand and result touched once. */
    baleen_status_t (*cost)(void* self, const baleen_graph_t* graph, baleen_op_t op, baleen_cost_t* out);
    /* Appends the same results from other kinds' ops and writes them into `out`. Null: devices must have a kernel. */
    baleen_status_t (*expand)(void* self, const baleen_graph_t* graph, baleen_op_t op, baleen_value_t* out);
    /* Appends a better form of `op`, given what made its operands, writes its results into `results` and 1 into
     * `found`; nothing where there is none. [before differentiation] */
    baleen_status_t (*fuse)(void* self, const baleen_graph_t* graph, baleen_op_t op, baleen_fuse_t* call);
    /* The op that computes `op` together with an earlier one whose work it would repeat. [after placement] */
    baleen_status_t (*join)(void* self, const baleen_graph_t* graph, baleen_op_t op, baleen_join_t* out);
    /* Computes on the host's processors, for devices that work there: of fp32 and 16 bits in fp32, of fp64 in fp64, as
     * compute.h says. Writes the results and nothing else. Allocates nothing that grows with the tensors, unless it
     * fails. [any thread, at run time] Null: such devices have the expansion. */
    baleen_status_t (*cpu)(void* self, const baleen_cpu_call_t* call);
    /* Gives the text of a kernel for CUDA devices. It depends on the request alone. UNSUPPORTED: none for these
     * tensors, and the device has the expansion. Null: never one. */
    baleen_status_t (*cuda)(void* self, const baleen_cuda_request_t* request, baleen_cuda_text_t* out);
} baleen_op_kind_t;
BALEEN_ASSERT_TABLE(baleen_op_kind_t, cuda, 176);

/* The table of kind "op". The library's kinds live as long as it is loaded. */
typedef struct baleen_ops_t {
    uint64_t size;
    /* Gives the kinds one by one; null from `number` = their count on. */
    const baleen_op_kind_t* (*kind)(uint64_t number);
} baleen_ops_t;
BALEEN_ASSERT_TABLE(baleen_ops_t, kind, 16);
/* The functions in their order; an OPTIONAL one may be null. */
#define BALEEN_OPS_FUNCTIONS(REQUIRED, OPTIONAL) REQUIRED(kind)

BALEEN_END

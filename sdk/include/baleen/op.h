/* Ops as they cross the boundary: a kind's name, operands by number, attributes. The kinds and what they compute are
 * listed beside the installed SDK (share/baleen/sdk), in `ops.md` (compiler/ops/README.md of the tree) and in
 * `layer_ops.md` (plugins/ops/README.md). */
#pragma once
#include "baleen/base.h"
#include "baleen/expression.h"

BALEEN_BEGIN

typedef uint32_t baleen_value_t; /* a value of a graph; never reused */
typedef uint32_t baleen_op_t;    /* an op of a graph; never reused */
#define BALEEN_NONE 0xffffffffu

typedef uint32_t baleen_attribute_type_t;
enum {
    BALEEN_ATTRIBUTE_INTS = 1,       /* const int64_t* */
    BALEEN_ATTRIBUTE_FLOATS = 2,     /* const double* */
    BALEEN_ATTRIBUTE_STRING = 3,     /* const char*, count bytes */
    BALEEN_ATTRIBUTE_EXPRESSION = 4  /* const baleen_instruction_t* */
};

typedef struct baleen_attribute_t {
    baleen_string_t name;
    baleen_attribute_type_t type;
    uint32_t reserved;
    uint64_t count;
    const void* data;
} baleen_attribute_t;
BALEEN_ASSERT_SIZE(baleen_attribute_t, 40);

/* An op inside a region or as appended to a graph. All pointers borrowed for the call. `inputs` and `outputs` number
 * the region's tensors (compute) or the graph's values (graph verbs). */
typedef struct baleen_op_view_t {
    uint64_t size;
    baleen_string_t kind;
    baleen_string_t name; /* for messages: the layer's path, "blocks.3.attention.qkv" */
    const uint32_t* inputs;
    uint64_t input_count;
    const uint32_t* outputs;
    uint64_t output_count;
    const baleen_attribute_t* attributes;
    uint64_t attribute_count;
} baleen_op_view_t;
BALEEN_ASSERT_SIZE(baleen_op_view_t, 88);

BALEEN_END

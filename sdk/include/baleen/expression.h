/* The small program that a `pointwise` op carries: straight-line code in SSA form, evaluated once per element. */
#pragma once
#include "baleen/base.h"

BALEEN_BEGIN

/* Operands a, b, c are numbers of earlier instructions unless said otherwise. An expression is computed in fp32, or in
 * fp64 where one of its floating inputs is fp64 (or, without floating inputs, its first output is). Integers are
 * converted on loading (exact up to 2^24 in fp32); results are rounded to the output's dtype on storing. No two
 * instructions are contracted. */
enum {
    BALEEN_X_INPUT = 1,    /* a: number of the op's input */
    BALEEN_X_CONSTANT = 2, /* constant */
    BALEEN_X_INDEX = 3,    /* the element's coordinate along dimension a, in the global tensor */
    BALEEN_X_UNIFORM = 4,  /* uniform in [0, 1), 24 bits; a, b: low and high half of the site */
    BALEEN_X_NORMAL = 5,   /* standard normal; a, b: as above */
    BALEEN_X_STEP = 6,     /* the attempted step, from 0 */

    BALEEN_X_NEG = 16, BALEEN_X_ABS, BALEEN_X_SIGN, BALEEN_X_FLOOR, BALEEN_X_SQRT, BALEEN_X_RSQRT, BALEEN_X_EXP,
    BALEEN_X_LOG, BALEEN_X_SIN, BALEEN_X_COS, BALEEN_X_TANH, BALEEN_X_ERF, BALEEN_X_SIGMOID, BALEEN_X_RELU,
    BALEEN_X_GELU,      /* x Phi(x), by erf */
    BALEEN_X_GELU_TANH, /* the tanh approximation of arXiv 1606.08415 */
    BALEEN_X_SILU, BALEEN_X_IS_FINITE /* 1 or 0 */,
    /* derivatives at a; the chain rule's product is a separate MUL */
    BALEEN_X_GELU_GRAD, BALEEN_X_GELU_TANH_GRAD, BALEEN_X_SILU_GRAD,

    BALEEN_X_ADD = 64, BALEEN_X_SUB, BALEEN_X_MUL, BALEEN_X_DIV, BALEEN_X_MAX, BALEEN_X_MIN, BALEEN_X_POW,
    BALEEN_X_LT, BALEEN_X_LE, BALEEN_X_EQ, BALEEN_X_NE, /* 1 or 0; compare with a NaN: 0, NE: 1 */

    BALEEN_X_SELECT = 96, /* a != 0 ? b : c */
    BALEEN_X_ROUND = 97   /* a rounded to dtype b (a number, not an operand) and widened again */
};

typedef struct baleen_instruction_t {
    uint32_t opcode;
    uint32_t a, b, c;
    double constant;
} baleen_instruction_t;
BALEEN_ASSERT_SIZE(baleen_instruction_t, 24);

/* Random numbers: Philox4x32-10 (Salmon et al. 2011) with key = seed ^ site (64 bits; low word first), counter =
 * {element low, element high, step low, step high}, the element being the row-major index in the global tensor. UNIFORM
 * takes (word 0 >> 8) * 2^-24. NORMAL takes sqrt(-2 ln u) cos(2 pi v), u = ((word 0 >> 8) + 0.5) * 2^-24,
 * v = (word 1 >> 8) * 2^-24, computed in fp64 and rounded. */

BALEEN_END

/* Compiling ahead: a device works on several kernels at once, and is waited for when all have been asked for.
 *
 * Draft: a later minor version may change it. The plugin `cuda` has it. */
#pragma once
#include "baleen/compute.h"

BALEEN_BEGIN

/* The answer to the query BALEEN_COMPILE_AHEAD of a device, which may be a described one; optional: without one, each
 * kernel is compiled before the next one is asked for. */
#define BALEEN_COMPILE_AHEAD "baleen.compute.compile_ahead/1"
typedef struct baleen_compile_ahead_t {
    uint64_t size;
    /* As `compile` of baleen_compute_t, but what takes long may be done beside, by threads of the device. All of `out`
     * is right at once. [plan time] */
    baleen_status_t (*begin)(void* device, const baleen_region_t* region, baleen_kernel_t* out);
    /* Waits for the rest, before the kernel is launched. Fails as `compile` would have; then the kernel can only be
     * released, as one may be that was never finished. [plan time; may be slow] */
    baleen_status_t (*finish)(void* device, void* kernel);
} baleen_compile_ahead_t;
BALEEN_ASSERT_TABLE(baleen_compile_ahead_t, finish, 24);

BALEEN_END

/* Launches that tell which block of their tensors they work on: for who looks at memory while it is in the cache.
 *
 * Draft: a later minor version may change it. */
#pragma once
#include "baleen/compute.h"

BALEEN_BEGIN

/* Told of each block of a launch, by whichever thread works on it, several at a time. Borrowed for the launch. */
typedef struct baleen_block_watch_t {
    uint64_t size;
    void* self;
    /* Elements [first, first + count) are about to be read or written; 0: they may be. Else the block stays as it is,
     * and so may all that have not begun. */
    uint32_t (*before)(void* self, uint64_t first, uint64_t count);
    /* They will not be written any more by this launch. */
    void (*after)(void* self, uint64_t first, uint64_t count);
} baleen_block_watch_t;
BALEEN_ASSERT_TABLE(baleen_block_watch_t, after, 32);

/* The answer to the query BALEEN_BLOCKWISE of a device; optional. */
#define BALEEN_BLOCKWISE "baleen.compute.blockwise/1"
typedef struct baleen_blockwise_t {
    uint64_t size;
    /* Elements of a block, and of the whole tensor, where the kernel works on number `tensor` of its region block by
     * block: its elements lie one behind the other, and each is touched between `before` and `after` of its block
     * alone. The same for all tensors of a kernel of which it is true; 0: it is not true of this one. */
    uint64_t (*block)(void* device, void* kernel, uint32_t tensor, uint64_t* elements);
    /* As the table's, with a watch, for kernels of which it is true of some tensor. */
    baleen_status_t (*launch)(void* device, void* kernel, const baleen_launch_t* launch,
                              const baleen_block_watch_t* watch);
} baleen_blockwise_t;
BALEEN_ASSERT_TABLE(baleen_blockwise_t, launch, 24);

BALEEN_END

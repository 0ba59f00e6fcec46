/* Stamps: when a stream came to places of a run. The host does not wait for it there.
 *
 * Draft: a later minor version may change it. The plugin `cuda` has them. */
#pragma once
#include "baleen/compute.h"

BALEEN_BEGIN

/* The answer to the query BALEEN_STAMPS of a device; optional: without one the host waits at each place and reads its
 * own clock. */
#define BALEEN_STAMPS "baleen.compute.stamps/1"
typedef struct baleen_stamps_t {
    uint64_t size;
    /* `count` stamps, numbered from 0. [may be slow] */
    baleen_status_t (*create)(void* device, uint64_t count, void** stamps);
    /* Enqueues: the time at which the stream comes here is the stamp of this number from then on. Allocates nothing.
     * [stream order; not while a sequence is kept] */
    baleen_status_t (*note)(void* device, void* stream, void* stamps, uint64_t number);
    /* Nanoseconds from one to the other, which were noted on one stream in this order and have been synchronized
     * with; 0 or more. */
    baleen_status_t (*between)(void* device, void* stamps, uint64_t first, uint64_t second, double* nanoseconds);
    void (*destroy)(void* device, void* stamps); /* none is under way */
} baleen_stamps_t;
BALEEN_ASSERT_TABLE(baleen_stamps_t, destroy, 40);

BALEEN_END

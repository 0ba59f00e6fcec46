/* A checkpoint plugin: named global tensors to and from a file. The core chooses it by the file name's ending. */
#pragma once
#include "baleen/host.h"

BALEEN_BEGIN

typedef struct baleen_named_tensor_t {
    baleen_string_t name;
    baleen_dtype_t dtype;
    uint32_t rank;
    int64_t shape[BALEEN_MAX_RANK];
    uint64_t bytes;
    void* data; /* row-major host memory. write: the contents. open: null. read: where to put them */
} baleen_named_tensor_t;
BALEEN_ASSERT_SIZE(baleen_named_tensor_t, 104);

/* The table of kind "checkpoint". [one thread] */
typedef struct baleen_checkpoint_t {
    uint64_t size;
    /* Writes all or nothing: to a temporary neighbour, synced, then renamed. `facts` are pairs name, text. */
    baleen_status_t (*write)(const baleen_host_t* host, baleen_string_t path, const baleen_named_tensor_t* tensors,
                             uint64_t count, const baleen_string_t* facts, uint64_t fact_count);
    /* Opens and validates; the reader lists what is in the file (valid until close). */
    baleen_status_t (*open)(const baleen_host_t* host, baleen_string_t path, void** reader);
    baleen_status_t (*list)(void* reader, const baleen_named_tensor_t** tensors, uint64_t* count,
                            const baleen_string_t** facts, uint64_t* fact_count);
    /* Reads one tensor (by its number in the list) into `data`, `bytes` long. */
    baleen_status_t (*read)(void* reader, uint64_t number, void* data, uint64_t bytes);
    void (*close)(void* reader);
} baleen_checkpoint_t;
BALEEN_ASSERT_TABLE(baleen_checkpoint_t, close, 48);
/* The functions in their order; an OPTIONAL one may be null. */
#define BALEEN_CHECKPOINT_FUNCTIONS(REQUIRED, OPTIONAL)                          \
    REQUIRED(write) REQUIRED(open) REQUIRED(list) REQUIRED(read) REQUIRED(close)

BALEEN_END

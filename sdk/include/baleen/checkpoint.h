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
    /* An optional extension of the plugin by name and revision, or null. */
    const void* (*query)(baleen_string_t name);
} baleen_checkpoint_t;
BALEEN_ASSERT_TABLE(baleen_checkpoint_t, query, 56);
/* The functions in their order; an OPTIONAL one may be null. */
#define BALEEN_CHECKPOINT_FUNCTIONS(REQUIRED, OPTIONAL)                                          \
    REQUIRED(write) REQUIRED(open) REQUIRED(list) REQUIRED(read) REQUIRED(close) OPTIONAL(query)

/* The answer to the query BALEEN_CHECKPOINT_PIECES: a file is written from pieces of its tensors, so that nobody holds
 * all of them. What a member without it writes is in the host's memory as a whole.
 *
 * Draft: a later minor version may change it. The member `safetensors` has it. */
#define BALEEN_CHECKPOINT_PIECES "baleen.checkpoint.pieces/1"
typedef struct baleen_checkpoint_pieces_t {
    uint64_t size;
    /* Begins a file of these tensors, of which `data` is null; refuses what `write` refuses. Takes the room on the disk
     * where it can. Tensors and facts are the caller's again when it returns. */
    baleen_status_t (*begin)(const baleen_host_t* host, baleen_string_t path, const baleen_named_tensor_t* tensors,
                             uint64_t count, const baleen_string_t* facts, uint64_t fact_count, void** writer);
    /* The next bytes of a tensor, by its number in the list; row-major. Tensors come in any order, and may take turns.
     * INTERNAL where the tensor has fewer bytes left. */
    baleen_status_t (*append)(void* writer, uint64_t number, const void* data, uint64_t bytes);
    /* Once, when all bytes are there (else INTERNAL): the file takes its place, as with `write`. */
    baleen_status_t (*commit)(void* writer);
    /* What was not committed is gone. */
    void (*end)(void* writer);
} baleen_checkpoint_pieces_t;
BALEEN_ASSERT_TABLE(baleen_checkpoint_pieces_t, end, 40);

/* Indices begin, begin + 1, ..., end - 1. */
typedef struct baleen_range_t {
    int64_t begin, end;
} baleen_range_t;
BALEEN_ASSERT_SIZE(baleen_range_t, 16);

/* A piece of a tensor in memory: the box of these indices, of which `flat` may leave only a part. */
typedef struct baleen_shard_t {
    uint64_t size;
    baleen_string_t name;
    baleen_dtype_t dtype;
    uint32_t rank;
    int64_t shape[BALEEN_MAX_RANK]; /* of the whole tensor */
    /* Per dimension the global indices, ascending and disjoint: local index i is the i-th of them. range_count 0: all
     * of the dimension. */
    const baleen_range_t* ranges[BALEEN_MAX_RANK];
    uint32_t range_count[BALEEN_MAX_RANK];
    uint32_t is_flat, reserved;
    baleen_range_t flat; /* where is_flat: which of the box's elements, in row-major order of local indices */
    uint64_t bytes;
    void* data; /* host memory, row-major in local indices. write: the contents. read: where to put them */
} baleen_shard_t;
BALEEN_ASSERT_SIZE(baleen_shard_t, 232);

/* The answer to the query BALEEN_CHECKPOINT_SHARDS: a checkpoint is a folder, to which every rank writes what it holds,
 * and from which every rank reads what it needs, whatever ranks wrote it.
 *
 * Draft: a later minor version may change it. The member `safetensors` has it.
 *
 * All ranks `write` under one `attempt`; when all have returned (the host sees to that), one rank `commit`s. Only with
 * that the folder holds the checkpoint; until then it holds the one that was committed before, if any. Whoever reads
 * opens the folder anew after a commit, which removes the files of other attempts. One attempt at a time. */
#define BALEEN_CHECKPOINT_SHARDS "baleen.checkpoint.shards/1"
typedef struct baleen_checkpoint_shards_t {
    uint64_t size;
    /* Writes the shards of one of `writers` ranks, numbered from 0, at most one of each tensor; they are on the disk
     * when it returns. Makes the folder where there is none. `attempt`: letters, digits, `.`, `_` and `-`, at most 64;
     * never the one that is committed. */
    baleen_status_t (*write)(const baleen_host_t* host, baleen_string_t folder, baleen_string_t attempt, int32_t writer,
                             int32_t writers, const baleen_shard_t* shards, uint64_t count);
    /* Makes what the writers have written the folder's checkpoint, all or nothing. Refuses, with the file and the
     * tensor, what lacks a writer or elements, what several writers hold in part, and shapes or dtypes that differ.
     * Equal pieces are copies, of which the first writer's is kept. `facts` are pairs name, text. */
    baleen_status_t (*commit)(const baleen_host_t* host, baleen_string_t folder, baleen_string_t attempt,
                              int32_t writers, const baleen_string_t* facts, uint64_t fact_count);
    /* Opens what is committed; the reader lists the whole tensors, of which `data` is null (valid until close). */
    baleen_status_t (*open)(const baleen_host_t* host, baleen_string_t folder, void** reader);
    baleen_status_t (*list)(void* reader, const baleen_named_tensor_t** tensors, uint64_t* count,
                            const baleen_string_t** facts, uint64_t* fact_count);
    /* Reads any piece of a tensor, which is known by its name; dtype and shape are those of the list. */
    baleen_status_t (*read)(void* reader, const baleen_shard_t* shard);
    void (*close)(void* reader);
    /* Deletes the files of a checkpoint, committed or not, and the folder with them unless it holds others, which stay.
     * What is half deleted is no checkpoint any more. */
    baleen_status_t (*remove)(const baleen_host_t* host, baleen_string_t folder);
    /* Reads all of what is committed and compares it with the checksums made when it was written. IO, with the file and
     * the tensor, where a bit differs. */
    baleen_status_t (*verify)(const baleen_host_t* host, baleen_string_t folder);
} baleen_checkpoint_shards_t;
BALEEN_ASSERT_TABLE(baleen_checkpoint_shards_t, verify, 72);

BALEEN_END

/* A data plugin: rows of named fields. Reading is a pure function of the seed and the position. */
#pragma once
#include "baleen/host.h"

BALEEN_BEGIN

typedef int32_t baleen_split_t;
enum { BALEEN_TRAIN = 0, BALEEN_HELD_OUT = 1 };

#define BALEEN_MAX_FIELDS 16

/* A field of every row: "tokens" i32 [128], "features" f32 [8], "label" i32 []. */
typedef struct baleen_field_t {
    char name[32];
    baleen_dtype_t dtype; /* F32, I32, I64 (hashed ids) or U8; F32 becomes F64 where the job computes in fp64 */
    uint32_t rank;        /* of one row, without the batch, so less than BALEEN_MAX_RANK */
    int64_t shape[BALEEN_MAX_RANK];
    char axes[BALEEN_MAX_RANK][16]; /* logical axes: "seq", ... or "" */
} baleen_field_t;
BALEEN_ASSERT_SIZE(baleen_field_t, 232);

typedef struct baleen_dataset_info_t {
    uint64_t size;
    uint32_t field_count;
    uint32_t reserved;
    baleen_field_t fields[BALEEN_MAX_FIELDS];
    int64_t rows[2];      /* of the train and held-out parts: one epoch; held-out may be 0 */
    int64_t classes;      /* number of distinct ids in the id fields: the vocabulary, the labels; 0 if none */
    double units_per_row; /* what throughput counts: tokens in a row, or 1 */
    char unit[16];        /* "tokens", "rows" */
    char summary[256];    /* one line for the user: files, bytes, rows */
} baleen_dataset_info_t;
BALEEN_ASSERT_SIZE(baleen_dataset_info_t, 4032);

/* The table of kind "data". */
typedef struct baleen_data_t {
    uint64_t size;
    /* Opens and checks everything: a file that is missing, empty or too short fails here. */
    baleen_status_t (*create)(const baleen_host_t* host, const baleen_settings_t* settings, void** dataset);
    void (*destroy)(void* dataset);
    baleen_status_t (*info)(void* dataset, baleen_dataset_info_t* out);
    /* Fills buffers[field] with rows `first` ... `first + count - 1` of the endless shuffled stream of a split, row
     * after row. Position p is row p % rows of epoch p / rows; each epoch of the train part is a new permutation, a
     * function of (seed, epoch); the held-out part keeps one order. Ranks read disjoint positions. [any thread] */
    baleen_status_t (*read)(void* dataset, baleen_split_t split, int64_t first, int64_t count, void* const* buffers);
    /* An optional extension: of a data set ("baleen.data.tokens/1", "baleen.data.ragged/1"), or, where `dataset` is
     * null, of the plugin ("baleen.data.tokenizer/1"; asked of plugins of revision 3 on). Null where it has none. */
    const void* (*query)(void* dataset, baleen_string_t name);
} baleen_data_t;
BALEEN_ASSERT_TABLE(baleen_data_t, query, 48);
/* The functions in their order; an OPTIONAL one may be null. */
#define BALEEN_DATA_FUNCTIONS(REQUIRED, OPTIONAL)                                    \
    REQUIRED(create) REQUIRED(destroy) REQUIRED(info) REQUIRED(read) OPTIONAL(query)

/* "baleen.data.tokens/1": text to ids and back. Both return the count needed even when it exceeds `capacity`
 * (nothing past capacity is written), or -1 after `fail`. */
#define BALEEN_DATA_TOKENS "baleen.data.tokens/1"
typedef struct baleen_data_tokens_t {
    uint64_t size;
    int64_t (*encode)(void* dataset, baleen_string_t text, int32_t* ids, int64_t capacity);
    int64_t (*decode)(void* dataset, const int32_t* ids, int64_t count, char* text, int64_t capacity);
} baleen_data_tokens_t;
BALEEN_ASSERT_TABLE(baleen_data_tokens_t, decode, 24);

/* "baleen.data.ragged/1": fields that are lists of unequal length. A batch stays dense, so that graphs have one shape:
 * such a field has shape[0] elements in each row, the most that a list has, of which those behind a row's own list are
 * zero. How long each row's list is stands in another field, I32 of no dimensions: 0 ... shape[0]. */
#define BALEEN_DATA_RAGGED "baleen.data.ragged/1"
typedef struct baleen_data_ragged_t {
    uint64_t size;
    /* The number of the field with the lengths of field `field`; -1 if that one is not ragged. [any thread] */
    int32_t (*length_field)(void* dataset, uint32_t field);
} baleen_data_ragged_t;
BALEEN_ASSERT_TABLE(baleen_data_ragged_t, length_field, 16);

/* "baleen.data.digest/1": what tells this data set from another. Ranks of a job compare it before they train; of data
 * without it they compare some rows. */
#define BALEEN_DATA_DIGEST "baleen.data.digest/1"
typedef struct baleen_data_digest_t {
    uint64_t size;
    /* A hash of the content, the same wherever it lies; of terabytes parts from all over that are read in a second. */
    baleen_status_t (*digest)(void* dataset, uint64_t* out);
} baleen_data_digest_t;
BALEEN_ASSERT_TABLE(baleen_data_digest_t, digest, 16);

/* "baleen.data.tokenizer/1", of the plugin. Draft: it may change without a new name. Trains tokenizers, and opens them
 * without a data set. */
#define BALEEN_DATA_TOKENIZER "baleen.data.tokenizer/1"

/* What `train` is asked for. */
typedef struct baleen_tokenizer_training_t {
    uint64_t size;
    baleen_string_t kind;    /* a word of `kinds` */
    int64_t vocabulary;      /* how many tokens, special ones among them */
    baleen_string_t files;   /* text to train on: a file, a folder or a pattern a line */
    baleen_string_t out;     /* the file to write; an old one is replaced when the new one is complete */
    baleen_string_t folder;  /* what relative paths are relative to */
    baleen_string_t options; /* of the kind: "name=value" a line; a name may come again */
} baleen_tokenizer_training_t;
BALEEN_ASSERT_SIZE(baleen_tokenizer_training_t, 96);

typedef struct baleen_data_tokenizer_t {
    uint64_t size;
    /* For people, a line for each kind: its word, ": ", what it is, and its options. Static. [any thread] */
    baleen_string_t (*kinds)(void);
    /* Takes long; tells of its progress in the log. [any thread] */
    baleen_status_t (*train)(const baleen_host_t* host, const baleen_tokenizer_training_t* training);
    /* Opens the files of a tokenizer, with which `close` ends. `path` as in `out`, relative to the working folder. */
    baleen_status_t (*open)(const baleen_host_t* host, baleen_string_t path, void** tokenizer);
    void (*close)(void* tokenizer);
    /* The largest id + 1. */
    int64_t (*vocabulary)(void* tokenizer);
    /* As those of baleen_data_tokens_t. `framed`: not 0 for the ids that the tokenizer puts around a text, too. */
    int64_t (*encode)(void* tokenizer, baleen_string_t text, int32_t framed, int32_t* ids, int64_t capacity);
    int64_t (*decode)(void* tokenizer, const int32_t* ids, int64_t count, char* text, int64_t capacity);
    /* A token as the vocabulary writes it; as `decode` gives text. */
    int64_t (*token)(void* tokenizer, int32_t id, char* text, int64_t capacity);
} baleen_data_tokenizer_t;
BALEEN_ASSERT_TABLE(baleen_data_tokenizer_t, token, 72);

BALEEN_END

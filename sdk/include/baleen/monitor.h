/* A monitor: is told what happens, and shows or keeps it. Never slows the run: records come late, in order. */
#pragma once
#include "baleen/host.h"

BALEEN_BEGIN

/* A named fact: a number, or a text where text.data is not null. */
typedef struct baleen_fact_t {
    baleen_string_t name; /* "loss", "gradient_norm", "lr", "units_per_second", "step_ms", ... */
    double number;
    baleen_string_t text;
} baleen_fact_t;
BALEEN_ASSERT_SIZE(baleen_fact_t, 40);

typedef int32_t baleen_record_kind_t;
enum {
    BALEEN_RECORD_START = 1,    /* facts of the run: script, parameters, devices, planned bytes, steps */
    BALEEN_RECORD_STEP = 2,     /* once per step */
    BALEEN_RECORD_EVALUATE = 3, /* after an evaluation: held_out_loss, ... */
    BALEEN_RECORD_NOTE = 4,     /* fact "message" */
    BALEEN_RECORD_FINISH = 5    /* closing summary */
};

typedef struct baleen_record_t {
    uint64_t size;
    baleen_record_kind_t kind;
    int32_t rank;
    int64_t step;    /* steps done; 0 before the first */
    int64_t steps;   /* of the whole run */
    double seconds;  /* since the start of the run */
    const baleen_fact_t* facts;
    uint64_t count;
} baleen_record_t;
BALEEN_ASSERT_SIZE(baleen_record_t, 56);

/* An interval on one stream of one rank. Times in nanoseconds since the start of the run. */
typedef struct baleen_span_t {
    baleen_string_t name;     /* "blocks.0.mlp.up" */
    baleen_string_t category; /* "compute": a launch; "begin", "wait": of a call of the transport; "pass": of a
                               * micro-batch through a stage, around them */
    int64_t begin, end;
    int64_t step;
    int32_t rank, stream;
    double flops;   /* done meanwhile; 0 where they are not what matters */
    uint64_t bytes; /* of the tensors that are read and written, each once; 0 unknown */
} baleen_span_t;
BALEEN_ASSERT_SIZE(baleen_span_t, 80);

/* The table of kind "monitor". [one thread] Pointers in records and spans are borrowed for the call. */
typedef struct baleen_monitor_t {
    uint64_t size;
    baleen_status_t (*create)(const baleen_host_t* host, const baleen_settings_t* settings, void** monitor);
    void (*destroy)(void* monitor); /* flushes */
    baleen_status_t (*record)(void* monitor, const baleen_record_t* record);
    /* May be null: then spans are not recorded for this monitor, and it is not made on other ranks than 0. */
    baleen_status_t (*spans)(void* monitor, const baleen_span_t* spans, uint64_t count);
} baleen_monitor_t;
BALEEN_ASSERT_TABLE(baleen_monitor_t, spans, 40);
/* The functions in their order; an OPTIONAL one may be null. */
#define BALEEN_MONITOR_FUNCTIONS(REQUIRED, OPTIONAL)                    \
    REQUIRED(create) REQUIRED(destroy) REQUIRED(record) OPTIONAL(spans)

BALEEN_END

/* What the core gives a plugin: one table of functions, and the values of its options. */
#pragma once
#include "baleen/base.h"

BALEEN_BEGIN

/* Lives as long as the plugin is loaded. All functions may be called from any thread. */
typedef struct baleen_host_t {
    uint64_t size;
    void* self;
    /* [any thread] Writes one line to the log, behind the plugin's name. */
    void (*log)(void* self, baleen_level_t level, baleen_string_t text);
    /* [any thread] Keeps `text` as the reason of the failure that the caller is about to return on this thread. Returns
     * `status`, so that a plugin writes `return host->fail(host->self, BALEEN_INVALID, text);`. The first to know calls
     * it; everybody else passes the status on. A function that returns no status calls it and returns 0. */
    baleen_status_t (*fail)(void* self, baleen_status_t status, baleen_string_t text);
    /* [any thread] An optional extension of the host (BALEEN_HOST_OPEN), or null. */
    const void* (*query)(void* self, baleen_string_t name);
    /* What the descriptor says that the plugin is ("optimizer"); the start function compares (start.h). */
    baleen_string_t kind;
} baleen_host_t;
BALEEN_ASSERT_SIZE(baleen_host_t, 56);

/* One option's value, already checked against the schema (type, range, choices), defaults filled in. */
typedef struct baleen_setting_t {
    baleen_string_t name;
    uint32_t type;  /* baleen_option_type_t */
    uint32_t value; /* SCHEDULE: id of the scalar value in the graph that the call is about, or BALEEN_NONE; else 0 */
    int64_t integer;      /* BOOL (0, 1), INT */
    double number;        /* FLOAT; SCHEDULE: its value at step 0 */
    baleen_string_t text; /* STRING; FLOAT: the word in place of a number, or "" */
    const double* table;  /* TABLE: rows * columns numbers, row by row; borrowed */
    int64_t rows;
    int64_t columns;
} baleen_setting_t;
BALEEN_ASSERT_SIZE(baleen_setting_t, 80);

/* All options of the schema, in the schema's order. Borrowed for the call. */
typedef struct baleen_settings_t {
    uint64_t size;
    uint64_t count;
    const baleen_setting_t* items;
    uint64_t seed;          /* the job's seed */
    baleen_string_t folder; /* what relative paths are relative to; ends without '/' */
    uint32_t local_rank, local_ranks; /* this rank's place among those of its host, and their number; 0 of 1 alone */
} baleen_settings_t;
BALEEN_ASSERT_SIZE(baleen_settings_t, 56);

/* A plugin that another one has opened: what its `create` wants. */
typedef struct baleen_member_t {
    uint64_t size;
    baleen_string_t name;
    const void* table;         /* of its kind, as its start function filled it */
    const baleen_host_t* host; /* its own */
    const baleen_settings_t* settings;
} baleen_member_t;
BALEEN_ASSERT_SIZE(baleen_member_t, 48);

/* The answer to the query BALEEN_HOST_OPEN: a plugin may use others. `self` is the host's. [any thread] */
#define BALEEN_HOST_OPEN "baleen.host.open/1"
typedef struct baleen_host_open_t {
    uint64_t size;
    /* Opens a plugin of `kind` and checks its options. `text`: its name, or the path of its file, then a line
     * "option=value" for each option that has not its default; lists take a line for each entry, tables commas between
     * numbers and semicolons between rows. In values a backslash stands before "n" for a line break, and before another
     * backslash. `settings`: the caller's own, which give seed, folder and the place on the host. Pair it with
     * `release`, which comes after all that the member has made is destroyed. */
    baleen_status_t (*open)(void* self, baleen_string_t kind, baleen_string_t text, const baleen_settings_t* settings,
                            const baleen_member_t** member);
    void (*release)(void* self, const baleen_member_t* member);
    /* Why a call of the member has returned `status` on this thread, with its name before it. Valid until the next
     * call on this thread. */
    baleen_string_t (*failure)(void* self, const baleen_member_t* member, baleen_status_t status);
} baleen_host_open_t;
BALEEN_ASSERT_SIZE(baleen_host_open_t, 32);

/* The one symbol that a plugin exports: `baleen_plugin_start`. Fills `table` (the kind's table, whose `size` field the
 * host has set to the bytes it knows), best with `baleen_give_table` (start.h). `host` outlives the plugin. */
typedef baleen_status_t (*baleen_plugin_start_t)(const baleen_host_t* host, void* table);
#define BALEEN_START_SYMBOL "baleen_plugin_start"

BALEEN_END

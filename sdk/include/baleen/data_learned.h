/* What a data set learns from its rows (means, vocabularies, labels), given as text and taken in place of learning. */
#pragma once
#include "baleen/data.h"

BALEEN_BEGIN

/* "baleen.data.learned/1". Draft: it may change without a new name. Asked of a data set and, for `take`, of the plugin
 * without one. What is given is saved with a model's parameters; with these, rows mean what they meant in training. */
#define BALEEN_DATA_LEARNED "baleen.data.learned/1"

/* Which rows a data set that takes facts has. */
typedef int32_t baleen_learned_use_t;
enum {
    BALEEN_LEARNED_PARTS = 0,    /* those that `create` gives, in the same two parts */
    BALEEN_LEARNED_ALL_ROWS = 1, /* both parts are all rows, in the order of their source */
    BALEEN_LEARNED_NO_TARGET = 2 /* the same, and what is to be predicted may lack; it is 0 then */
};

typedef struct baleen_data_learned_t {
    uint64_t size;
    /* What `dataset` has learned, as one JSON object. Returns the bytes needed even when they exceed `capacity`
     * (nothing past it is written), or -1 after `fail`. [any thread] */
    int64_t (*give)(void* dataset, char* text, int64_t capacity);
    /* As `create` of baleen_data_t, with what `give` gave in place of what these rows would teach: fields and classes
     * are those of then. What the rows hold beyond it (an unknown category) is refused with its place. `source`: a
     * file or what else the plugin reads, in place of what `settings` name; empty: theirs. */
    baleen_status_t (*take)(const baleen_host_t* host, const baleen_settings_t* settings, baleen_string_t learned,
                            baleen_string_t source, baleen_learned_use_t use, void** dataset);
    /* The label of class `number`, as `give` gives text; an empty one where numbers have none. [any thread] */
    int64_t (*label)(void* dataset, int64_t number, char* text, int64_t capacity);
} baleen_data_learned_t;
BALEEN_ASSERT_TABLE(baleen_data_learned_t, label, 32);

BALEEN_END

/* The descriptor: a pointer-free record in the ELF note `.note.baleen` that says what a plugin is and which options it
 * takes. The core reads it from the file, before (and without) opening the library. */
#pragma once
#include "baleen/base.h"
#include "baleen/kind.h"

#define BALEEN_DESCRIPTOR_MAGIC 0x31304e45454c4142ull /* "BALEEN01", little endian */
#define BALEEN_MAX_OPTIONS 32
#define BALEEN_NOTE_SECTION ".note.baleen"

BALEEN_BEGIN

typedef uint32_t baleen_option_type_t;
enum {
    BALEEN_OPTION_BOOL = 1,
    BALEEN_OPTION_INT = 2,
    BALEEN_OPTION_FLOAT = 3,
    BALEEN_OPTION_STRING = 4,
    BALEEN_OPTION_SCHEDULE = 5, /* a number or any function of the step; reaches the plugin as a scalar of the graph */
    BALEEN_OPTION_TABLE = 6     /* numbers row by row (rows x columns), e.g. a Lua array of arrays */
};

typedef uint32_t baleen_option_flags_t;
enum {
    BALEEN_OPTION_REQUIRED = 1u << 0,
    BALEEN_OPTION_PER_GROUP = 1u << 1, /* a parameter group may override it (optimizers) */
    BALEEN_OPTION_MANY = 1u << 2,      /* a list of strings is accepted; reaches the plugin joined by '\n' */
    /* A string that names files: what the user typed after `--` comes absolute. `choices` are words that stand in place
     * of a path; any other value has a '/' or a '.' in it (since 1.4). */
    BALEEN_OPTION_PATH = 1u << 3,
    /* A string that names another plugin of this one's kind, which may be given with options of its own. Reaches the
     * plugin as the text that baleen_host_open_t opens. `help` says what that member does ("joins hosts"). */
    BALEEN_OPTION_MEMBER = 1u << 4,
    /* What is about one host. MEMBER: it gets the options that a host has of its own, where this plugin lacks them.
     * INT: a number of ranks on one host, at most those of the largest. */
    BALEEN_OPTION_PER_HOST = 1u << 5,
    /* 1u << 6: BALEEN_OPTION_THREADS, of compute plugins (launcher.h) */
    /* Alone: this is an earlier name of the option `default_value`, which stands before it. Whoever writes it sets that
     * option. `choices`: values whose words changed too, "old=new|old=new". Since 1.2. */
    BALEEN_OPTION_EARLIER_NAME = 1u << 7
};

/* One option. A `cli` name makes `baleen run --<cli> VALUE` set it; for a monitor this also switches the member on.
 * Only compute, transport and monitor plugins have flags, and not for TABLE options. A default must satisfy its own
 * schema. */
typedef struct baleen_option_t {
    char name[32];
    baleen_option_type_t type;
    baleen_option_flags_t flags;
    double minimum; /* of INT, FLOAT and SCHEDULE; minimum > maximum means no range */
    double maximum;
    char default_value[64]; /* as a user would write it; "" with REQUIRED */
    char choices[128];      /* STRING: allowed words separated by '|'; "" for any. FLOAT: words in place of a number */
    char cli[32];
    char help[160];         /* one line */
} baleen_option_t;
BALEEN_ASSERT_SIZE(baleen_option_t, 440);

/* It may grow at its end, and so may an option: a reader goes by the two sizes. */
typedef struct baleen_descriptor_t {
    uint64_t magic;
    uint32_t struct_size; /* sizeof(baleen_descriptor_t) as compiled */
    uint32_t option_size; /* sizeof(baleen_option_t) as compiled */
    uint16_t abi_major;
    uint16_t abi_minor;
    int32_t score;  /* the highest of a kind is used where the manifest names none; a negative one only on request */
    char kind[16];  /* "compute", "optimizer", "data", "monitor", "checkpoint", "strategy", "op", "transport",
                    * "launcher", "offload" */
    char name[32];
    char version[16];
    char license[32];
    char summary[160];
    char extension[16]; /* checkpoint, data: the file name ending it is chosen for, without the dot; or "" */
    baleen_option_t options[BALEEN_MAX_OPTIONS]; /* ends at the first empty name */
    uint32_t kind_revision; /* of the kind's interface (kind.h); since 1.1 */
    uint32_t reserved;
} baleen_descriptor_t;
BALEEN_ASSERT_SIZE(baleen_descriptor_t, 14384);

typedef struct baleen_note_t {
    uint32_t name_size; /* 8 */
    uint32_t descriptor_size;
    uint32_t type; /* 1 */
    char owner[8]; /* "Baleen" */
    uint32_t padding;
    baleen_descriptor_t descriptor;
} baleen_note_t;
BALEEN_ASSERT_SIZE(baleen_note_t, 14408);

#ifdef __cplusplus
#define BALEEN_NOTE_CONSTANT_ static constexpr
#else
#define BALEEN_NOTE_CONSTANT_ static const
#endif

/* Puts the descriptor into the note. Use once, at file scope, before what exports the table:
 *   BALEEN_DESCRIPTOR("optimizer", "adamw", "1.0.0", "Apache-2.0", "AdamW (arXiv 1711.05101)", 0, "",
 *     BALEEN_OPTION("lr", BALEEN_OPTION_SCHEDULE, BALEEN_OPTION_PER_GROUP, 0, 1e9, "1e-3", "", "", "learning rate"),
 *     ...) */
#define BALEEN_DESCRIPTOR(kind_, name_, version_, license_, summary_, score_, extension_, ...)                       \
    __attribute__((section(BALEEN_NOTE_SECTION), used, aligned(8))) BALEEN_NOTE_CONSTANT_ baleen_note_t              \
        baleen_plugin_note = {8,                                                                                     \
                              sizeof(baleen_descriptor_t),                                                           \
                              1,                                                                                     \
                              "Baleen",                                                                              \
                              0,                                                                                     \
                              {BALEEN_DESCRIPTOR_MAGIC, sizeof(baleen_descriptor_t), sizeof(baleen_option_t),        \
                               BALEEN_ABI_MAJOR, BALEEN_ABI_MINOR, score_, kind_, name_, version_, license_,         \
                               summary_, extension_, {__VA_ARGS__}, BALEEN_REVISION_OF(kind_), 0}}

#define BALEEN_OPTION(name_, type_, flags_, minimum_, maximum_, default_, choices_, cli_, help_)                     \
    {name_, type_, flags_, minimum_, maximum_, default_, choices_, cli_, help_}
#define BALEEN_NO_OPTIONS BALEEN_OPTION("", 0, 0, 1, 0, "", "", "", "")

BALEEN_END

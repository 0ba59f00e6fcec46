/* A launcher: starts the processes of a job's ranks, or finds that somebody else has, and lets them meet. */
#pragma once
#include "baleen/host.h"

BALEEN_BEGIN

/* A flag of options (baleen_option_flags_t) of compute plugins: an INT, with how many threads the plugin computes.
 * Where the user does not say it, each rank gets what its launcher says, or else its share of its host's processors. */
enum { BALEEN_OPTION_THREADS = 1u << 6 };

/* A host of the job as the user wrote it. */
typedef struct baleen_launch_host_t {
    baleen_string_t name;
    baleen_string_t address; /* as the other hosts reach it; "": by its name */
    int32_t ranks;
    uint32_t reserved;
} baleen_launch_host_t;
BALEEN_ASSERT_SIZE(baleen_launch_host_t, 40);

/* What is known of the job when a launcher is made, in a rank as in the process that starts the ranks. Borrowed for the
 * call. */
typedef struct baleen_launch_job_t {
    uint64_t size;
    const baleen_launch_host_t* hosts; /* ranks are numbered host by host */
    uint64_t host_count;               /* 0: the user named none */
    int32_t ranks;                     /* of the mesh */
    int32_t host_index;                /* the user starts each host, and this is that one; -1: not said */
    baleen_string_t secret_file;       /* that such hosts share; "-": standard input; "": none */
    baleen_string_t word;              /* in a rank: what `start` put behind baleen_launch_start_t.mark; "": nothing */
} baleen_launch_job_t;
BALEEN_ASSERT_SIZE(baleen_launch_job_t, 64);

/* Which rank this process is. What it points to lives as long as the launcher. */
typedef struct baleen_place_t {
    uint64_t size;
    int32_t rank, ranks;             /* `ranks` 0: this process is no rank */
    int32_t local_rank, local_ranks; /* among those of its host */
    int32_t host_index, host_count;
    int32_t threads;                 /* with which it should compute; 0: its share of what it may use */
    uint32_t reserved;
    const int32_t* host_of_rank;     /* the host of each rank, from 0, never falling; null: all are on one */
    const baleen_string_t* hosts;    /* the name of each host */
    /* The address of this host on the way to and from the first host, in digits ("10.0.0.2", "fd00::2"): what listens
     * for other hosts does so there. Ends with a zero; null: not known, or all ranks are on one host. */
    const char* address;
} baleen_place_t;
BALEEN_ASSERT_TABLE(baleen_place_t, address, 64);

/* The phase of a rank that, after a failure, saves what was trained or is to when its step ends: it gets a minute for
 * that before it is killed. */
#define BALEEN_PHASE_RESCUING "saving what was trained"

/* How far a rank is. -1, and "" for the phase: not known, or not begun. */
typedef struct baleen_progress_t {
    int64_t step;
    int64_t collective; /* number of the last one that it began; all ranks count alike, from 1 */
    const char* phase;  /* ends with a zero; lives as long as the process */
    /* The name of the job's compiled program that it runs, or ran last; "": none yet, or it is at the end of its
     * script. Ends with a zero; lives as long as the launcher. */
    const char* program;
    uint32_t runs;  /* how many runs of programs it has begun: all ranks count alike, from 1 */
    uint32_t order; /* a hash of the programs' names in the order of the runs. Ranks of equal `runs` and unequal `order`
                       do not do the same: they wait for each other for ever, or take one collective for another. */
    /* The collective that it stands in, in words: it could run, and has not ended. "": none. Where every rank stands in
     * one for long, the transport has lost one, or is slow. Ends with a zero; lives as long as the launcher. */
    const char* stands_in;
} baleen_progress_t;
BALEEN_ASSERT_SIZE(baleen_progress_t, 48);

/* Why a rank is about to end. Borrowed for the call. */
typedef struct baleen_rank_failure_t {
    uint64_t size;
    baleen_status_t status; /* PEER_LOST: a consequence of what another rank will say */
    uint32_t reserved;
    baleen_string_t message;
    baleen_string_t where;           /* a place in the user's files, or "" */
    const baleen_string_t* recorded; /* the last lines of its log, where they help */
    uint64_t recorded_count;
} baleen_rank_failure_t;
BALEEN_ASSERT_SIZE(baleen_rank_failure_t, 64);

/* The processors of a rank. */
typedef struct baleen_cpus_t {
    const int32_t* numbers; /* as the system counts */
    uint64_t count;         /* 0: all */
} baleen_cpus_t;
BALEEN_ASSERT_SIZE(baleen_cpus_t, 16);

/* What to start. Borrowed for the call. */
typedef struct baleen_launch_start_t {
    uint64_t size;
    /* The command of a rank: the program's name, then its arguments. The program is this process's own file. */
    const baleen_string_t* words;
    uint64_t word_count;
    baleen_string_t mark; /* behind the program's name comes one more word, which begins so; then what `word` tells */
    /* The same for another host, which does there what this process does here. The first word is the program's file. A
     * word BALEEN_LAUNCH_INDEX stands for the host's number. The secret comes on standard input. */
    const baleen_string_t* host_words;
    uint64_t host_word_count;
    baleen_string_t facts;     /* what must be the same on every host, a line each */
    const baleen_cpus_t* cpus; /* of each rank of this host, in their order */
    uint64_t cpus_count;       /* 0: ranks move freely */
    int32_t threads;           /* of each rank of this host */
    uint32_t reserved;
    baleen_string_t obstacle;  /* not "": why this host cannot start its ranks, which all hosts are to hear */
} baleen_launch_start_t;
BALEEN_ASSERT_SIZE(baleen_launch_start_t, 112);
#define BALEEN_LAUNCH_INDEX "{index}"

/* How a job ended. What it points to lives until the next call of `start` or the launcher's end. */
typedef struct baleen_outcome_t {
    uint64_t size;
    baleen_status_t status; /* of what failed first */
    int32_t exit_code;      /* of the process that failed first, where it ended with one; else -1 */
    int32_t signal;         /* the launcher was told to end by this signal, and the ranks did; else 0 */
    int32_t told;           /* not 0: another host's launcher tells the user why */
    baleen_string_t message, where;
    const baleen_string_t* recorded; /* the last lines of the log of the rank that failed first */
    uint64_t recorded_count;
} baleen_outcome_t;
BALEEN_ASSERT_SIZE(baleen_outcome_t, 72);

/* The table of kind "launcher". [any thread] but for create, destroy and start, which one thread calls.
 *
 * One process asks `place` first. If it is a rank, it uses the functions from `put` to `finish`; if not, `start`, where
 * there is one. A rank ends with `finish`, or with `fail` and an exit code; any other end is a failure.
 *
 * Failure: once a rank is lost, whatever waits or would wait returns PEER_LOST with the first cause. */
typedef struct baleen_launcher_t {
    uint64_t size;
    /* Not 0: it serves this job though nobody names it. The installed launchers are asked by falling score. */
    int32_t (*fits)(const baleen_host_t* host, const baleen_launch_job_t* launch);
    baleen_status_t (*create)(const baleen_host_t* host, const baleen_settings_t* settings,
                              const baleen_launch_job_t* launch, void** launcher);
    void (*destroy)(void* launcher);
    /* Ranks are numbered from 0, and no two processes have one number. */
    baleen_status_t (*place)(void* launcher, baleen_place_t* place);
    /* Sets a key, once in the job. INVALID where it is set already. */
    baleen_status_t (*put)(void* launcher, baleen_string_t key, baleen_string_t value);
    /* Waits until some rank has set the key, then gives its value to `take`, which is called once, within the call. */
    baleen_status_t (*get)(void* launcher, baleen_string_t key, void (*take)(void* context, baleen_string_t value),
                           void* context);
    /* Waits until every rank has come to the fence of that name, which may be used again. */
    baleen_status_t (*fence)(void* launcher, baleen_string_t name);
    /* Says why this rank is about to end. Not 0: the launcher shows it to the user; else the rank does. */
    int32_t (*fail)(void* launcher, const baleen_rank_failure_t* failure);
    /* The rank's work is complete. May wait until that of the others is. */
    baleen_status_t (*finish)(void* launcher);
    /* May be null. How far this rank is, as often as that changes: neither waits nor allocates. */
    void (*beat)(void* launcher, const baleen_progress_t* progress);
    /* May be null: nobody hears of lost ranks but by the functions above. Called once: `lost` is to be called, once and
     * on any thread, when a rank is lost (at once where one is already), and no more after `destroy`. */
    baleen_status_t (*watch)(void* launcher, void (*lost)(void* context, baleen_string_t reason), void* context);
    /* May be null: somebody else starts the ranks. Starts those of this host and waits for the end of the job. The
     * status tells whether it began; how it ended is in `outcome`. Processes live no longer than the calling thread. */
    baleen_status_t (*start)(void* launcher, const baleen_launch_start_t* what, baleen_outcome_t* outcome);
    /* May be null. Writes a new secret for hosts that are started one by one to a file that is not there yet. */
    baleen_status_t (*make_secret)(const baleen_host_t* host, baleen_string_t file);
} baleen_launcher_t;
BALEEN_ASSERT_TABLE(baleen_launcher_t, make_secret, 112);
/* The functions in their order; an OPTIONAL one may be null. */
#define BALEEN_LAUNCHER_FUNCTIONS(REQUIRED, OPTIONAL)                                                               \
    REQUIRED(fits) REQUIRED(create) REQUIRED(destroy) REQUIRED(place) REQUIRED(put) REQUIRED(get) REQUIRED(fence)   \
    REQUIRED(fail) REQUIRED(finish) OPTIONAL(beat) OPTIONAL(watch) OPTIONAL(start) OPTIONAL(make_secret)

BALEEN_END

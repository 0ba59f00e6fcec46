/* The vocabulary every other header of the ABI uses: version, status codes, strings, dtypes. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* A plugin loads when its major equals the host's and its minor is not greater: a host is never older than its plugins.
 *
 * Within a major version a struct that begins with `size` may grow at its end; any other struct stays as it is.
 *   Who makes such a struct sets `size` to its sizeof.
 *   Who writes into a struct that the other side made writes no more than its `size`, and sets `size` to what was
 *   written. Who reads one takes what lies past its `size` as zero.
 *   In an array of such structs the elements lie as far apart as the first one's `size` says.
 * A minor version may let structs and tables grow at their end, and add constants and queries. Functions that a table
 * gains may be null. The interface of a kind has a revision besides (kind.h). */
#define BALEEN_ABI_MAJOR 1
#define BALEEN_ABI_MINOR 7

#define BALEEN_MAX_RANK 8

#ifdef __cplusplus
#define BALEEN_BEGIN extern "C" {
#define BALEEN_END }
#define BALEEN_ASSERT_(condition, text) static_assert(condition, text)
#else
#define BALEEN_BEGIN
#define BALEEN_END
#define BALEEN_ASSERT_(condition, text) _Static_assert(condition, text)
#endif
/* Every struct of the ABI is followed by one of these. TABLE: of functions, `last` being the last one. */
#define BALEEN_ASSERT_SIZE(type, bytes) BALEEN_ASSERT_(sizeof(type) == (bytes), #type " changed")
#define BALEEN_ASSERT_TABLE(type, last, bytes)                                                                         \
    BALEEN_ASSERT_(sizeof(type) == (bytes) && offsetof(type, last) == (bytes) - sizeof(void*), #type " changed")

#define BALEEN_EXPORT __attribute__((visibility("default")))

BALEEN_BEGIN

/* What a call came to. Everything but OK has a text, given through baleen_host_t::fail. */
typedef int32_t baleen_status_t;
enum {
    BALEEN_OK = 0,
    BALEEN_INVALID = 1,      /* the user's input is wrong; the text says where and how to mend it */
    BALEEN_UNSUPPORTED = 2,  /* right, but this member cannot do it */
    BALEEN_NOT_FOUND = 3,
    BALEEN_IO = 4,
    BALEEN_NO_MEMORY = 5,    /* of the host or the device; also: the plan does not fit */
    BALEEN_PEER_LOST = 6,
    BALEEN_TIMEOUT = 7,
    BALEEN_INTERNAL = 8,     /* our own bug */
    BALEEN_INTERRUPTED = 9,  /* somebody asked the run to end, and it did so in good order */
    BALEEN_DAMAGED = 10      /* numbers that are trained are NaN or infinite, or copies of them differ, or kept bytes */
};

/* UTF-8, not terminated, borrowed: valid for the call that passes it unless said otherwise. */
typedef struct baleen_string_t {
    const char* data;
    uint64_t size;
} baleen_string_t;
BALEEN_ASSERT_SIZE(baleen_string_t, 16);

typedef int32_t baleen_dtype_t;
enum {
    BALEEN_F32 = 1,
    BALEEN_F64 = 2,
    BALEEN_F16 = 3,
    BALEEN_BF16 = 4,
    BALEEN_I32 = 5,
    BALEEN_I64 = 6,
    BALEEN_U8 = 7,
    BALEEN_E4M3 = 8, /* 8 bits, of products alone (fp8.hpp): no infinities, the largest finite number is 448 */
    BALEEN_E5M2 = 9  /* 8 bits, of products alone: the upper half of an fp16, the largest finite number is 57344 */
};

typedef int32_t baleen_level_t;
enum { BALEEN_DEBUG = 1, BALEEN_INFO = 2, BALEEN_WARNING = 3, BALEEN_FAILURE = 4 };

BALEEN_END

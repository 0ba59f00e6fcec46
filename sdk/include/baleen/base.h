/* The vocabulary every other header of the ABI uses: version, status codes, strings, dtypes. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* A plugin loads when its major equals the host's and its minor is not greater. */
#define BALEEN_ABI_MAJOR 1
#define BALEEN_ABI_MINOR 0

#define BALEEN_MAX_RANK 8

#ifdef __cplusplus
#define BALEEN_BEGIN extern "C" {
#define BALEEN_END }
#define BALEEN_ASSERT_SIZE(type, bytes) static_assert(sizeof(type) == (bytes), #type " changed")
#else
#define BALEEN_BEGIN
#define BALEEN_END
#define BALEEN_ASSERT_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " changed")
#endif

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
    BALEEN_INTERNAL = 8      /* our own bug */
};

/* UTF-8, not terminated, borrowed: valid for the call that passes it unless said otherwise. */
typedef struct baleen_string_t {
    const char* data;
    uint64_t size;
} baleen_string_t;

typedef int32_t baleen_dtype_t;
enum {
    BALEEN_F32 = 1,
    BALEEN_F64 = 2,
    BALEEN_F16 = 3,
    BALEEN_BF16 = 4,
    BALEEN_I32 = 5,
    BALEEN_I64 = 6,
    BALEEN_U8 = 7
};

typedef int32_t baleen_level_t;
enum { BALEEN_DEBUG = 1, BALEEN_INFO = 2, BALEEN_WARNING = 3, BALEEN_FAILURE = 4 };

BALEEN_END

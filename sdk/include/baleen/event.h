/* An event: a counter that only grows, on which compute and transport both wait and signal. */
#pragma once
#include "baleen/base.h"

BALEEN_BEGIN

/* Owned by whoever made it; zero-initialised. `value` is read and written with the functions of event.hpp (atomic, acquire and
 * release); `native` belongs to the compute plugin that first signals it. A 32-bit half of `value` is what sleepers wait on (futex). */
typedef struct baleen_event_t {
    uint64_t size;
    uint64_t value;
    uint32_t waiters;
    uint32_t reserved;
    void* native;
} baleen_event_t;
BALEEN_ASSERT_SIZE(baleen_event_t, 32);

/* What the event of a failed operation is raised to, so that nobody waits for ever; the signaller's `check` tells why. */
#define BALEEN_EVENT_FAILED UINT64_MAX

BALEEN_END

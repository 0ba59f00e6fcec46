/* An event: a counter that only grows, on which compute and transport both wait and signal. */
#pragma once
#include "baleen/base.h"

BALEEN_BEGIN

/* Owned by whoever made it; zero-initialised. The counter is read and raised with the functions of event.hpp; `native`
 * belongs to the compute plugin that signals it (native_events.h). Who signals touches the event no more once the new
 * value can be seen, so a waiter may free it then. */
typedef struct baleen_event_t {
    uint64_t size;
    uint64_t word; /* twice the counter, plus 1 while somebody sleeps; its low half is what sleepers wait on (futex) */
    uint64_t reserved;
    void* native;
} baleen_event_t;
BALEEN_ASSERT_SIZE(baleen_event_t, 32);

/* The highest value: what the event of a failed operation is raised to, so that nobody waits for ever; the signaller's
 * `check` tells why. */
#define BALEEN_EVENT_FAILED (UINT64_MAX >> 1)

BALEEN_END

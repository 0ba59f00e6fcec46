/* Captured collectives: a transport on streams of a device takes part in the device's sequences (baleen_sequences_t),
 * so that launches and the collectives between them are enqueued as one.
 *
 * Draft: a later minor version may change it. The transport `nccl` has it, where the user asks for it; it has run on
 * emulated devices only. */
#pragma once
#include "baleen/native_events.h"

BALEEN_BEGIN

/* The answer to the query BALEEN_TRANSPORT_CAPTURED of a transport with BALEEN_TRANSPORT_NATIVE; optional: without one,
 * no collective is started while the device keeps a sequence. The answer is the same on all ranks and does not change.
 *
 * Order: `begin`; the device's `begin`; launches, `start`s and waits; the device's `end`; `end`. Then the host starts
 * the same slots in the same order, uncaptured: nothing is lost by a capture that is not used. When all ranks have come
 * to the same point, `agree` tells whether captures may be replayed. Each replay is: `enter`, a wait of the stream for
 * what it raises, the device's `replay`, `replayed`, and nothing is started in between. Captures are released, and the
 * device's sequences before them, before the groups of their slots are destroyed, before the transport leaves the
 * device, and, after a failure, before anything of the transport is waited for: a library may keep what it aborts until
 * no sequence holds it. A sequence with collectives may then be under way when it is released, and goes on to its end.
 *
 * Failure: as with `start`. What a replay had under way when the transport fails is told by `done` of `replayed`. */
#define BALEEN_TRANSPORT_CAPTURED "baleen.transport.captured/1"
typedef struct baleen_transport_captured_t {
    uint64_t size;
    /* From now on until `end`, what this thread starts is enqueued on streams that the device captures, and is not
     * counted as started; `after` is signalled on the captured stream, `done` is waited for there. `start` returns
     * UNSUPPORTED, and has done nothing, for SEND, RECEIVE, BARRIER and what has buffers that are not the device's. */
    baleen_status_t (*begin)(void* transport);
    /* What was started in between, whether or not the device has kept it. */
    baleen_status_t (*end)(void* transport, void** capture);
    /* Collective over all ranks; waits for them. `captures`: this rank's, none where it could keep nothing. `agreed` is
     * 1 on all ranks where each of their collectives was captured on all members of its group; else, and where there
     * is none, 0 on all ranks: then nobody replays any of them. */
    baleen_status_t (*agree)(void* transport, void* const* captures, uint64_t count, int32_t* agreed);
    /* A replay is about to be enqueued: its collectives count as started. Raises `rests` when what was started before
     * on the streams of the capture is over. */
    baleen_status_t (*enter)(void* transport, void* capture, baleen_event_t* rests, uint64_t rests_value);
    /* It has been enqueued, and is over when `after` has reached `after_value`: what is started from now on on these
     * streams begins then. Raises `done` behind it; where the transport fails before, to BALEEN_EVENT_FAILED. */
    baleen_status_t (*replayed)(void* transport, void* capture, baleen_event_t* after, uint64_t after_value,
                                baleen_event_t* done, uint64_t done_value);
    void (*release)(void* transport, void* capture); /* it is replayed no more */
} baleen_transport_captured_t;
BALEEN_ASSERT_TABLE(baleen_transport_captured_t, release, 56);

BALEEN_END

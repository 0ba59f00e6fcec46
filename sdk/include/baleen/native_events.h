/* Native events: a transport whose work runs on streams of the device's own runtime (as NCCL's does) waits for the
 * device's streams and is waited for without the host in between.
 *
 * Draft: the plugin `cuda` has the device's side, the transport `nccl` and the core's copies the other. They have run
 * on one GPU at a time (docs/measurements/cuda.md), not yet on several. A later minor version may change it. */
#pragma once
#include "baleen/compute.h"
#include "baleen/transport.h"

BALEEN_BEGIN

/* The answer to the query BALEEN_DEVICE_NATIVE_EVENTS of a device.
 *
 * Use: the transport makes its streams with the device's `stream_create`, enqueues its own work on their native handles
 * and, in `start`, `stream_wait`s for `after` before it and `stream_signal`s `done` behind it.
 *
 * From the first call of `native_stream` on, a wait for a value that a stream of this device is to signal, where
 * `stream_signal` was called before, is an edge between the two streams: no thread of the host takes part. Any other
 * wait goes by the event's counter, as ever. The counter still rises at every signal, soon after the stream has come
 * there; no stream waits for that. An event is signalled by one device, in ascending order of values.
 *
 * Ownership: `native` of an event is the device's while a signal is under way, else null; the event may be freed as
 * event.h says. Streams are destroyed by who made them, before the device.
 * Threads: a stream is one thread's at a time, different streams may be different threads'. The device's context is
 * current on the thread after each call.
 * Failure: where the device fails, all signals under way on it go to BALEEN_EVENT_FAILED. Where the transport fails, it
 * calls `fail` for each unfinished `done`, and makes its streams come to their end (ncclCommAbort) behind that: they
 * would raise `done` as if all were well. A stream that waits natively is not told: it goes on, with whatever lies in
 * memory; the host learns of it by the transport's `check` and by the counter. The memory is free when `group_destroy`
 * has returned.
 * Capture (baleen_sequences_t): between `begin` and `end` waits and signals on the captured stream are edges of the
 * sequence, and a stream that waits for a signal of the sequence becomes part of it, so `start` enqueues on the calling
 * thread. A wait in a sequence for what is signalled outside, and a stream that the captured one does not wait for in
 * the end, make `end` fail with UNSUPPORTED. A signal is only for waits in the same sequence; its counter rises once,
 * to the value of the capture, behind the first replay. A replay comes after what the captured stream was given before
 * and not after other work of the transport's stream: what may not run beside it has to be waited for. */
#define BALEEN_DEVICE_NATIVE_EVENTS "baleen.device.native_events/1"
typedef struct baleen_native_events_t {
    uint64_t size;
    baleen_string_t runtime; /* what native handles belong to: "cuda", of CUstream; lives as long as the plugin */
    /* The handle of a stream that this device made; valid as long as the stream. */
    baleen_status_t (*native_stream)(void* device, void* stream, void** native);
    /* Raises the event to BALEEN_EVENT_FAILED; signals of it that are under way touch it no more. [any thread] */
    void (*fail)(void* device, baleen_event_t* event);
} baleen_native_events_t;
BALEEN_ASSERT_TABLE(baleen_native_events_t, fail, 40);

/* The answer to the query BALEEN_TRANSPORT_NATIVE of a transport that wants a device's native events. */
#define BALEEN_TRANSPORT_NATIVE "baleen.transport.native/1"
typedef struct baleen_transport_native_t {
    uint64_t size;
    baleen_string_t runtime; /* that it shares with devices; lives as long as the plugin */
    /* Once, with a device of this runtime, before the first `prepare` of a collective on the device's memory. The three
     * live until `leave`. */
    baleen_status_t (*use)(void* transport, void* device, const baleen_compute_t* compute,
                           const baleen_native_events_t* events);
    /* The device is about to be destroyed: the transport destroys its streams there. No slot on the device's memory is
     * started any more. */
    void (*leave)(void* transport);
} baleen_transport_native_t;
BALEEN_ASSERT_TABLE(baleen_transport_native_t, leave, 40);

BALEEN_END

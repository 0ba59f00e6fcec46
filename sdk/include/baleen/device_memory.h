/* Device memory: a transport has memory of its own on the device that it works on, as NCCL has.
 *
 * Draft: a later minor version may change it. The transport `nccl` has it; it has run on emulated devices only. */
#pragma once
#include "baleen/native_events.h"

BALEEN_BEGIN

/* The answer to the query BALEEN_TRANSPORT_DEVICE_MEMORY of a transport with BALEEN_TRANSPORT_NATIVE; optional: without
 * one, arenas of the device are registered. */
#define BALEEN_TRANSPORT_DEVICE_MEMORY "baleen.transport.device_memory/1"
typedef struct baleen_transport_device_memory_t {
    uint64_t size;
    /* Zeroed memory of the device in use, between `use` and `leave`, aligned as the device's arenas: its kernels and
     * copies take it like one, and the transport knows it without `register_arena`. All ranks allocate and release in
     * one order; sizes may differ. The device's plugin does not count it. UNSUPPORTED: there is none on this rank, and
     * an arena of the device is registered instead. */
    baleen_status_t (*allocate)(void* transport, uint64_t bytes, void** base);
    void (*release)(void* transport, void* base); /* no slot that touches it is started any more, on any rank */
} baleen_transport_device_memory_t;
BALEEN_ASSERT_TABLE(baleen_transport_device_memory_t, release, 24);

BALEEN_END

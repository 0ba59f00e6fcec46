/* What every start function does: compares the kinds and hands the table over. */
#pragma once
#include <stdio.h>
#include <string.h>

#include "baleen/host.h"

BALEEN_BEGIN

/* Copies `table`, which has `size` bytes and begins with that number, to `out`, as far as the host knows it. INVALID
 * where the host, which has read the descriptor, means another kind than `kind`. */
static inline baleen_status_t baleen_give_table(const baleen_host_t* host, const char* kind, void* out,
                                                const void* table, uint64_t size) {
    if (host->size >= sizeof(baleen_host_t) && host->kind.data &&
        (host->kind.size != strlen(kind) || memcmp(host->kind.data, kind, host->kind.size) != 0)) {
        char text[160];
        const int length = snprintf(text, sizeof text, "its table is of kind `%s`, and its descriptor says `%.*s`",
                                    kind, (int)host->kind.size, host->kind.data);
        const baleen_string_t reason = {text, (uint64_t)(length < (int)sizeof text ? length : (int)sizeof text - 1)};
        return host->fail(host->self, BALEEN_INVALID, reason);
    }
    uint64_t known = 0;
    memcpy(&known, out, sizeof known);
    if (size < known) known = size;
    memcpy(out, table, known);
    memcpy(out, &known, sizeof known);
    return BALEEN_OK;
}

BALEEN_END

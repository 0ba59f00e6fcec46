/// \file A sound descriptor of a kind that is not asked for. It never starts.
#include "baleen/plugin.hpp"

BALEEN_DESCRIPTOR("data", "other_kind", "1.0.0", "Apache-2.0", "For tests", -1, "", BALEEN_NO_OPTIONS);

extern "C" BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t*, void*) { return BALEEN_INTERNAL; }

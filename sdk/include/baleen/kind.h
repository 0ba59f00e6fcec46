/* The kinds of plugin: the revision of each kind's interface, and which interfaces are drafts. */
#pragma once
#include "baleen/base.h"

/* A revision grows whenever the kind's header changes what crosses the boundary. The descriptor carries the revision
 * that a plugin was built against. A host takes plugins of its own revision, and of an earlier one unless the kind is a
 * draft: in a draft everything may change, so those plugins are to be built again. A plugin of a later revision needs a
 * later host. Plugins of ABI 1.0 carry no revision; they count as revision 0. */
#define BALEEN_STABLE 0
#define BALEEN_DRAFT 1

#define BALEEN_COMPUTE_REVISION 2
#define BALEEN_COMPUTE_STATE BALEEN_STABLE
#define BALEEN_OPTIMIZER_REVISION 2
#define BALEEN_OPTIMIZER_STATE BALEEN_STABLE
#define BALEEN_DATA_REVISION 4
#define BALEEN_DATA_STATE BALEEN_STABLE
#define BALEEN_MONITOR_REVISION 1
#define BALEEN_MONITOR_STATE BALEEN_STABLE
#define BALEEN_CHECKPOINT_REVISION 4
#define BALEEN_CHECKPOINT_STATE BALEEN_STABLE
#define BALEEN_STRATEGY_REVISION 15
#define BALEEN_STRATEGY_STATE BALEEN_DRAFT
#define BALEEN_OP_REVISION 5
#define BALEEN_OP_STATE BALEEN_DRAFT
#define BALEEN_TRANSPORT_REVISION 3
#define BALEEN_TRANSPORT_STATE BALEEN_STABLE
#define BALEEN_LAUNCHER_REVISION 4
#define BALEEN_LAUNCHER_STATE BALEEN_DRAFT
#define BALEEN_OFFLOAD_REVISION 1
#define BALEEN_OFFLOAD_STATE BALEEN_DRAFT

/* The revision of the kind that a string literal names; 0 where there is no such kind. A constant expression. */
#define BALEEN_SAME_WORD_(a, b) (__builtin_strcmp(a, b) == 0)
#define BALEEN_REVISION_OF(kind)                                               \
    (BALEEN_SAME_WORD_(kind, "compute")      ? BALEEN_COMPUTE_REVISION         \
     : BALEEN_SAME_WORD_(kind, "optimizer")  ? BALEEN_OPTIMIZER_REVISION       \
     : BALEEN_SAME_WORD_(kind, "data")       ? BALEEN_DATA_REVISION            \
     : BALEEN_SAME_WORD_(kind, "monitor")    ? BALEEN_MONITOR_REVISION         \
     : BALEEN_SAME_WORD_(kind, "checkpoint") ? BALEEN_CHECKPOINT_REVISION      \
     : BALEEN_SAME_WORD_(kind, "strategy")   ? BALEEN_STRATEGY_REVISION        \
     : BALEEN_SAME_WORD_(kind, "op")         ? BALEEN_OP_REVISION              \
     : BALEEN_SAME_WORD_(kind, "transport")  ? BALEEN_TRANSPORT_REVISION       \
     : BALEEN_SAME_WORD_(kind, "launcher")   ? BALEEN_LAUNCHER_REVISION        \
     : BALEEN_SAME_WORD_(kind, "offload")    ? BALEEN_OFFLOAD_REVISION         \
                                             : 0)

/// \file XXH3, with the vectors of this processor where the library chooses them.
#pragma once
#ifndef XXH_STATIC_LINKING_ONLY
#define XXH_STATIC_LINKING_ONLY  // the state's size
#endif
#include <xxhash.h>
#ifdef BALEEN_XXHASH_DISPATCHES
#include <xxh_x86dispatch.h>
#endif

/// \file A compute table of functions that only fail: enough to open a plugin, when the test is about its start.
#pragma once
#include "baleen/compute.h"
#include "baleen/plugin.hpp"

/// `name` appears in messages; a plugin's own mistake follows in `baleen_plugin_start`.
#define BALEEN_BAD_DESCRIPTOR(name) \
  BALEEN_DESCRIPTOR("compute", name, "1.0.0", "Apache-2.0", "Bad on purpose", -1, "", BALEEN_NO_OPTIONS)

inline baleen_compute_t failing_compute() {
  baleen_compute_t table{};
  table.create = [](const baleen_host_t* host, const baleen_settings_t*, void**) {
    return baleen::Host(host).fail(BALEEN_UNSUPPORTED, "bad on purpose");
  };
  table.destroy = [](void*) {};
  table.info = [](void*, baleen_device_info_t*) -> baleen_status_t { return BALEEN_UNSUPPORTED; };
  return table;
}

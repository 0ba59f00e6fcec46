/// \file A plugin with an option of every type, for the tests of descriptor, registry and host.
#include <stdexcept>
#include <string>

#include "baleen/monitor.h"
#include "baleen/plugin.hpp"

BALEEN_DESCRIPTOR("monitor", "sample", "1.2.3", "Apache-2.0", "For tests", -1, "smp",
                  BALEEN_OPTION("flag", BALEEN_OPTION_BOOL, 0, 1, 0, "true", "", "sample-flag", "a switch"),
                  BALEEN_OPTION("count", BALEEN_OPTION_INT, 0, 1, 64, "8", "", "", "how many"),
                  BALEEN_OPTION("share", BALEEN_OPTION_FLOAT, BALEEN_OPTION_PER_GROUP, 0, 1, "0.5", "", "", "a share"),
                  BALEEN_OPTION("path", BALEEN_OPTION_STRING, BALEEN_OPTION_REQUIRED, 1, 0, "", "", "sample", "a file"),
                  BALEEN_OPTION("files", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 1, 0, "", "", "", "files"),
                  BALEEN_OPTION("mode", BALEEN_OPTION_STRING, 0, 1, 0, "fast", "fast|exact", "", "how"),
                  BALEEN_OPTION("rate", BALEEN_OPTION_SCHEDULE, BALEEN_OPTION_PER_GROUP, 0, 10, "1e-3", "", "", "rate"),
                  BALEEN_OPTION("label", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "", "a word"),
                  BALEEN_OPTION("rows", BALEEN_OPTION_TABLE, 0, 1, 0, "", "", "", "numbers"),
                  BALEEN_OPTION("way", BALEEN_OPTION_STRING, BALEEN_OPTION_EARLIER_NAME, 1, 0, "mode",
                                "quick=fast|slow=exact", "", ""),
                  BALEEN_OPTION("pace", BALEEN_OPTION_SCHEDULE, BALEEN_OPTION_EARLIER_NAME, 1, 0, "rate", "", "", ""));

namespace {

/// Fails with the text of option "path", or by an exception where it is "throw"; logs otherwise.
baleen_status_t create(const baleen_host_t* raw, const baleen_settings_t* settings, void** monitor) {
  const baleen::Host host(raw);
  return baleen::guard(host, [&]() -> baleen::Status {
    const std::string path(baleen::Settings(settings).text("path"));
    if (path == "throw") throw std::runtime_error("thrown inside");
    if (path != "log") return baleen::invalid("cannot open " + path, "sample.cpp:1:2");
    host.log(BALEEN_WARNING, "a line of the plugin");
    *monitor = nullptr;
    return {};
  });
}

}  // namespace

extern "C" BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t*, void* out) {
  baleen_monitor_t table{};
  table.create = create;
  table.destroy = [](void*) {};
  table.record = [](void*, const baleen_record_t*) -> baleen_status_t { return BALEEN_OK; };
  baleen::fill_table(out, table);
  return BALEEN_OK;
}

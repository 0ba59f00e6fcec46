/* Says that it is a compute plugin, and hands over the table of an optimizer. */
#include "baleen/descriptor.h"
#include "baleen/optimizer.h"
#include "baleen/start.h"

BALEEN_DESCRIPTOR("compute", "other_table", "1.0.0", "Apache-2.0", "Bad on purpose", -1, "", BALEEN_NO_OPTIONS);

BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t* host, void* table) {
  const baleen_optimizer_t mine = {.size = sizeof mine};
  return baleen_give_table(host, "optimizer", table, &mine, sizeof mine);
}

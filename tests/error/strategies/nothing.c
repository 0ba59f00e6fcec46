/* A strategy in C that takes part in no phase: all of them are optional. */
#include "baleen/descriptor.h"
#include "baleen/start.h"
#include "baleen/strategy.h"

BALEEN_DESCRIPTOR("strategy", "nothing_c", "1.0.0", "Apache-2.0", "Does nothing, in C", 0, "", BALEEN_NO_OPTIONS);

static baleen_status_t create(const baleen_host_t* host, const baleen_settings_t* settings, const baleen_mesh_t* mesh,
                              void** strategy) {
  (void)settings, (void)mesh;
  *strategy = (void*)host;
  return BALEEN_OK;
}
static void destroy(void* strategy) { (void)strategy; }
static uint32_t claims(void* strategy, uint32_t axis) { return (void)strategy, (void)axis, 0; }

BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t* host, void* table) {
  const baleen_strategy_t mine = {.size = sizeof mine, .create = create, .destroy = destroy, .claims = claims};
  return baleen_give_table(host, "strategy", table, &mine, sizeof mine);
}

/* A strategy of ABI 1.0, whose interface was a draft: a host of another revision refuses it. */
#include "baleen/strategy.h"
#include "start.h"

BALEEN_DESCRIPTOR("strategy", "previous_draft", "1.0.0", "Apache-2.0", "Does nothing, of ABI 1.0", -1, "",
                  BALEEN_NO_OPTIONS);

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
  (void)host;
  return hand_over(table, &mine, sizeof mine);
}

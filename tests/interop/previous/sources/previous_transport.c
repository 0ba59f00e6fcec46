/* A transport of ABI 1.0 that loads and connects nobody. */
#include "baleen/transport.h"
#include "start.h"

BALEEN_DESCRIPTOR("transport", "previous_none", "1.0.0", "Apache-2.0", "Connects nobody, of ABI 1.0", -1, "",
                  BALEEN_NO_OPTIONS);

static baleen_status_t create(const baleen_host_t* host, const baleen_settings_t* settings,
                              const baleen_rendezvous_t* rendezvous, baleen_transport_flags_t flags, void** transport) {
  (void)settings, (void)rendezvous, (void)flags, (void)transport;
  return host->fail(host->self, BALEEN_UNSUPPORTED, text_of("it connects nobody"));
}
static void destroy(void* transport) { (void)transport; }
static baleen_status_t group_create(void* transport, const int32_t* ranks, uint64_t count, void** group) {
  (void)transport, (void)ranks, (void)count, (void)group;
  return BALEEN_UNSUPPORTED;
}
static void group_destroy(void* transport, void* group) { (void)transport, (void)group; }
static baleen_status_t prepare(void* transport, void* group, const baleen_collective_spec_t* spec, void** slot) {
  (void)transport, (void)group, (void)spec, (void)slot;
  return BALEEN_UNSUPPORTED;
}
static baleen_status_t start(void* transport, void* slot, baleen_event_t* after, uint64_t after_value,
                             baleen_event_t* done, uint64_t done_value) {
  (void)transport, (void)slot, (void)after, (void)after_value, (void)done, (void)done_value;
  return BALEEN_UNSUPPORTED;
}
static baleen_status_t check(void* transport) {
  (void)transport;
  return BALEEN_UNSUPPORTED;
}
static void stop(void* transport, baleen_string_t reason) { (void)transport, (void)reason; }

BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t* host, void* table) {
  const baleen_transport_t mine = {.size = sizeof mine,
                                   .create = create,
                                   .destroy = destroy,
                                   .group_create = group_create,
                                   .group_destroy = group_destroy,
                                   .prepare = prepare,
                                   .start = start,
                                   .check = check,
                                   .abort = stop};
  (void)host;
  return hand_over(table, &mine, sizeof mine);
}

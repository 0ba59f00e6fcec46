/* A compute plugin of ABI 1.0 that computes nothing and describes two devices. */
#include "baleen/compute.h"
#include "start.h"

BALEEN_DESCRIPTOR("compute", "previous_two", "1.0.0", "Apache-2.0", "Two devices, of ABI 1.0", -1, "",
                  BALEEN_NO_OPTIONS);

static baleen_status_t refuse(const baleen_host_t* host) {
  return host->fail(host->self, BALEEN_UNSUPPORTED, text_of("it computes nothing"));
}

static baleen_status_t list(const baleen_host_t* host, const baleen_settings_t* settings, baleen_device_limits_t* out,
                            uint64_t capacity, uint64_t* count) {
  (void)host, (void)settings;
  *count = 2;
  for (uint64_t i = 0; i < 2 && i < capacity; ++i) {
    strcpy(out[i].name, i == 0 ? "the first of 1.0" : "the second of 1.0");
    out[i].memory_bytes = (i + 1) << 30;
  }
  return BALEEN_OK;
}

static baleen_status_t of(void* device, baleen_device_limits_t* out) {
  (void)device, (void)out;
  return BALEEN_UNSUPPORTED;
}

static const void* query(void* device, baleen_string_t name) {
  static const baleen_compute_limits_t limits = {sizeof limits, list, of};
  (void)device;
  const baleen_string_t wanted = text_of(BALEEN_DEVICE_LIMITS);
  return name.size == wanted.size && memcmp(name.data, wanted.data, name.size) == 0 ? &limits : NULL;
}

static baleen_status_t create(const baleen_host_t* host, const baleen_settings_t* settings, void** device) {
  (void)settings, (void)device;
  return refuse(host);
}
static void destroy(void* device) { (void)device; }
static baleen_status_t info(void* device, baleen_device_info_t* out) {
  (void)device, (void)out;
  return BALEEN_UNSUPPORTED;
}
static baleen_status_t arena_create(void* device, baleen_arena_kind_t kind, uint64_t bytes, void** base) {
  (void)device, (void)kind, (void)bytes, (void)base;
  return BALEEN_UNSUPPORTED;
}
static void arena_destroy(void* device, baleen_arena_kind_t kind, void* base, uint64_t bytes) {
  (void)device, (void)kind, (void)base, (void)bytes;
}
static uint32_t supports(void* device, const baleen_region_t* region) {
  (void)device, (void)region;
  return 0;
}
static baleen_status_t compile(void* device, const baleen_region_t* region, baleen_kernel_t* out) {
  (void)device, (void)region, (void)out;
  return BALEEN_UNSUPPORTED;
}
static void release(void* device, void* kernel) { (void)device, (void)kernel; }
static baleen_status_t launch(void* device, void* kernel, const baleen_launch_t* call) {
  (void)device, (void)kernel, (void)call;
  return BALEEN_UNSUPPORTED;
}
static baleen_status_t stream_create(void* device, void** stream) {
  (void)device, (void)stream;
  return BALEEN_UNSUPPORTED;
}
static void stream_destroy(void* device, void* stream) { (void)device, (void)stream; }
static baleen_status_t stream_event(void* device, void* stream, baleen_event_t* event, uint64_t value) {
  (void)device, (void)stream, (void)event, (void)value;
  return BALEEN_UNSUPPORTED;
}
static baleen_status_t synchronize(void* device, void* stream) {
  (void)device, (void)stream;
  return BALEEN_UNSUPPORTED;
}
static baleen_status_t copy(void* device, void* stream, void* to, const void* from, uint64_t bytes) {
  (void)device, (void)stream, (void)to, (void)from, (void)bytes;
  return BALEEN_UNSUPPORTED;
}
static baleen_status_t zero(void* device, void* stream, void* to, uint64_t bytes) {
  (void)device, (void)stream, (void)to, (void)bytes;
  return BALEEN_UNSUPPORTED;
}

BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t* host, void* table) {
  const baleen_compute_t mine = {sizeof mine,  create,       destroy,     info,   arena_create,  arena_destroy,
                                 supports,     compile,      release,     launch, stream_create, stream_destroy,
                                 stream_event, stream_event, synchronize, copy,   zero,          query};
  (void)host;
  return hand_over(table, &mine, sizeof mine);
}

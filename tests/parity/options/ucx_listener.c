/* What a program asks of UCX, written to the file BALEEN_TEST_UCX_LOG.PID at its end: options that it sets, and how
 * many tagged messages of which length it sends. To be loaded before UCX (LD_PRELOAD). */
#define _GNU_SOURCE  // NOLINT(bugprone-reserved-identifier): the C library's own name
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

enum { kLengths = 1 << 20, kSettings = 4096 };
static atomic_uint sent_by_length[kLengths];
static char settings[kSettings];

ucs_status_t ucp_config_modify(ucp_config_t* config, const char* name, const char* value) {
  static ucs_status_t (*next)(ucp_config_t*, const char*, const char*);
  if (!next) next = (ucs_status_t(*)(ucp_config_t*, const char*, const char*))dlsym(RTLD_NEXT, "ucp_config_modify");
  const size_t used = strlen(settings);
  snprintf(settings + used, kSettings - used, "%s=%s\n", name, value);
  return next(config, name, value);
}

ucs_status_ptr_t ucp_tag_send_nbx(ucp_ep_h ep, const void* buffer, size_t count, ucp_tag_t tag,
                                  const ucp_request_param_t* param) {
  static ucs_status_ptr_t (*next)(ucp_ep_h, const void*, size_t, ucp_tag_t, const ucp_request_param_t*);
  if (!next)
    next = (ucs_status_ptr_t(*)(ucp_ep_h, const void*, size_t, ucp_tag_t, const ucp_request_param_t*))dlsym(
        RTLD_NEXT, "ucp_tag_send_nbx");
  ++sent_by_length[count < kLengths ? count : kLengths - 1];
  return next(ep, buffer, count, tag, param);
}

__attribute__((destructor)) static void write_down(void) {
  const char* log = getenv("BALEEN_TEST_UCX_LOG");
  if (!log || !settings[0]) return;
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", log, (int)getpid());
  FILE* file = fopen(path, "w");
  if (!file) return;
  fputs(settings, file);
  for (size_t i = 0; i < kLengths; ++i)
    if (sent_by_length[i]) fprintf(file, "%zu bytes: %u\n", i, sent_by_length[i]);
  fclose(file);
}

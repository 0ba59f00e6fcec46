/* A checkpoint format of ABI 1.0, for writing: a line per tensor with its name, dtype and bytes. */
#include <stdio.h>

#include "baleen/checkpoint.h"
#include "start.h"

BALEEN_DESCRIPTOR("checkpoint", "previous_list", "1.0.0", "Apache-2.0", "A list of tensors, of ABI 1.0", 0, "previous",
                  BALEEN_NO_OPTIONS);

static baleen_status_t save(const baleen_host_t* host, baleen_string_t path, const baleen_named_tensor_t* tensors,
                            uint64_t count, const baleen_string_t* facts, uint64_t fact_count) {
  (void)facts, (void)fact_count;
  char name[4096];
  snprintf(name, sizeof name, "%.*s", (int)path.size, path.data);
  FILE* file = fopen(name, "w");
  if (!file) return host->fail(host->self, BALEEN_IO, text_of("cannot write the file"));
  for (uint64_t i = 0; i < count; ++i)
    fprintf(file, "%.*s %d %llu\n", (int)tensors[i].name.size, tensors[i].name.data, tensors[i].dtype,
            (unsigned long long)tensors[i].bytes);
  return fclose(file) == 0 ? BALEEN_OK : host->fail(host->self, BALEEN_IO, text_of("cannot write the file"));
}

static baleen_status_t load(const baleen_host_t* host, baleen_string_t path, void** reader) {
  (void)path, (void)reader;
  return host->fail(host->self, BALEEN_UNSUPPORTED, text_of("this format is only written"));
}

static baleen_status_t list(void* reader, const baleen_named_tensor_t** tensors, uint64_t* count,
                            const baleen_string_t** facts, uint64_t* fact_count) {
  (void)reader, (void)tensors, (void)count, (void)facts, (void)fact_count;
  return BALEEN_UNSUPPORTED;
}

static baleen_status_t fetch(void* reader, uint64_t number, void* data, uint64_t bytes) {
  (void)reader, (void)number, (void)data, (void)bytes;
  return BALEEN_UNSUPPORTED;
}

static void end(void* reader) { (void)reader; }

BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t* host, void* table) {
  const baleen_checkpoint_t mine = {sizeof mine, save, load, list, fetch, end};
  (void)host;
  return hand_over(table, &mine, sizeof mine);
}

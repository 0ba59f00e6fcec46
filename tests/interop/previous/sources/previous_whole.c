/* A checkpoint format of ABI 1.2, for writing and reading: per tensor a line with its name, dtype, number of
 * dimensions, shape and bytes, then its contents. */
#include <stdio.h>
#include <stdlib.h>

#include "baleen/checkpoint.h"
#include "start.h"

BALEEN_DESCRIPTOR("checkpoint", "previous_whole", "1.0.0", "Apache-2.0", "Whole tensors, of ABI 1.2", 0, "whole",
                  BALEEN_NO_OPTIONS);

enum { kMostTensors = 64, kMostName = 256 };

struct reader {
  uint64_t count;
  baleen_named_tensor_t tensors[kMostTensors]; /* `data` is null, as a list's is */
  char names[kMostTensors][kMostName];
  void* contents[kMostTensors];
};

static FILE* open_file(baleen_string_t path, const char* mode) {
  char name[4096];
  snprintf(name, sizeof name, "%.*s", (int)path.size, path.data);
  return fopen(name, mode);
}

static baleen_status_t save(const baleen_host_t* host, baleen_string_t path, const baleen_named_tensor_t* tensors,
                            uint64_t count, const baleen_string_t* facts, uint64_t fact_count) {
  (void)facts, (void)fact_count;
  FILE* file = open_file(path, "wb");
  if (!file) return host->fail(host->self, BALEEN_IO, text_of("cannot write the file"));
  for (uint64_t i = 0; i < count; ++i) {
    const baleen_named_tensor_t* tensor = &tensors[i];
    fprintf(file, "%.*s %d %u", (int)tensor->name.size, tensor->name.data, (int)tensor->dtype, tensor->rank);
    for (uint32_t d = 0; d < tensor->rank; ++d) fprintf(file, " %lld", (long long)tensor->shape[d]);
    fprintf(file, " %llu\n", (unsigned long long)tensor->bytes);
    fwrite(tensor->data, 1, tensor->bytes, file);
  }
  const int failed = ferror(file);
  return fclose(file) == 0 && !failed ? BALEEN_OK : host->fail(host->self, BALEEN_IO, text_of("cannot write the file"));
}

static void end(void* self) {
  struct reader* reader = self;
  for (uint64_t i = 0; i < reader->count; ++i) free(reader->contents[i]);
  free(reader);
}

/* 1: one more tensor has been read; 0: the file is over; -1: it breaks off. */
static int take_tensor(struct reader* reader, FILE* file) {
  const int first = fgetc(file);
  if (first == EOF) return 0;
  ungetc(first, file);
  baleen_named_tensor_t* tensor = &reader->tensors[reader->count];
  char* name = reader->names[reader->count];
  int dtype = 0;
  unsigned long long bytes = 0;
  if (fscanf(file, "%255s %d %u", name, &dtype, &tensor->rank) != 3 || tensor->rank > BALEEN_MAX_RANK) return -1;
  for (uint32_t d = 0; d < tensor->rank; ++d) {
    long long extent = 0;
    if (fscanf(file, "%lld", &extent) != 1) return -1;
    tensor->shape[d] = extent;
  }
  if (fscanf(file, "%llu", &bytes) != 1 || fgetc(file) != '\n') return -1;
  tensor->name = text_of(name);
  tensor->dtype = (baleen_dtype_t)dtype;
  tensor->bytes = bytes;
  void* contents = malloc(bytes > 0 ? bytes : 1);
  if (!contents || fread(contents, 1, bytes, file) != bytes) {
    free(contents);
    return -1;
  }
  reader->contents[reader->count++] = contents;
  return 1;
}

static baleen_status_t load(const baleen_host_t* host, baleen_string_t path, void** out) {
  FILE* file = open_file(path, "rb");
  if (!file) return host->fail(host->self, BALEEN_IO, text_of("cannot read the file"));
  struct reader* reader = calloc(1, sizeof *reader);
  int more = reader ? 1 : -1;
  while (more > 0) more = reader->count < kMostTensors ? take_tensor(reader, file) : -1;
  fclose(file);
  if (more < 0) {
    if (reader) end(reader);
    return host->fail(host->self, BALEEN_INVALID, text_of("the file breaks off"));
  }
  *out = reader;
  return BALEEN_OK;
}

static baleen_status_t list(void* self, const baleen_named_tensor_t** tensors, uint64_t* count,
                            const baleen_string_t** facts, uint64_t* fact_count) {
  struct reader* reader = self;
  *tensors = reader->tensors;
  *count = reader->count;
  *facts = 0;
  *fact_count = 0;
  return BALEEN_OK;
}

static baleen_status_t fetch(void* self, uint64_t number, void* data, uint64_t bytes) {
  struct reader* reader = self;
  memcpy(data, reader->contents[number], bytes);
  return BALEEN_OK;
}

BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t* host, void* table) {
  const baleen_checkpoint_t mine = {sizeof mine, save, load, list, fetch, end};
  (void)host;
  return hand_over(table, &mine, sizeof mine);
}

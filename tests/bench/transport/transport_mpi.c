/* The OpenMPI side of transport.py: `transport_mpi BYTES...` prints "bytes microseconds" per size, the median of
 * samples. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kSamples = 15 };

static int operations(long bytes) { return bytes <= 65536 ? 200 : bytes <= (4 << 20) ? 20 : 3; }

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

int main(int count, char** words) {
  int rank = 0;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int word = 1; word < count; ++word) {
    const long bytes = atol(words[word]);
    float* data = calloc((size_t)bytes / 4, 4);
    double samples[kSamples];
    for (int sample = -2; sample < kSamples; ++sample) {
      const double begin = MPI_Wtime();
      for (int i = 0; i < operations(bytes); ++i)
        MPI_Allreduce(MPI_IN_PLACE, data, (int)(bytes / 4), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      if (sample >= 0) samples[sample] = (MPI_Wtime() - begin) / operations(bytes);
    }
    qsort(samples, kSamples, sizeof samples[0], by_size);
    if (rank == 0) printf("%ld %.3f\n", bytes, samples[kSamples / 2] * 1e6);
    free(data);
  }
  MPI_Finalize();
  return 0;
}

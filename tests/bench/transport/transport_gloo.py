#!/usr/bin/env python3
"""Measures Gloo's all_reduce of fp32 for transport.py: prints "bytes microseconds" per size."""
import multiprocessing
import os
import statistics
import tempfile
import time

import transport


def operations(size):
    return 200 if size <= 65536 else 20 if size <= 4 << 20 else 3


def rank_body(rank, ranks, store, sizes):
    import torch
    import torch.distributed as distributed
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=ranks)
    for size in sizes:
        data = torch.zeros(size // 4)
        samples = []
        for _ in range(2 + 15):
            begin = time.perf_counter()
            for _ in range(min(operations(size), 20)):  # of the small ones fewer: they are slow
                distributed.all_reduce(data)
            samples.append((time.perf_counter() - begin) / min(operations(size), 20))
        if rank == 0:
            print(size, f"{statistics.median(samples[2:]) * 1e6:.3f}", flush=True)
    distributed.barrier()
    distributed.destroy_process_group()


def main():
    parser = transport.make_parser(__doc__)
    parser.add_argument("ranks", type=int)
    parser.add_argument("sizes", type=int, nargs="+", metavar="BYTES")
    options = parser.parse_args()
    ranks, sizes = options.ranks, options.sizes
    with tempfile.TemporaryDirectory() as folder:
        context = multiprocessing.get_context("spawn")
        processes = [context.Process(target=rank_body, args=(rank, ranks, os.path.join(folder, "store"), sizes))
                     for rank in range(ranks)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Measures PyTorch's product of two n x n matrices in bf16 on a GPU, to stand beside bench_device's.

Prints TFLOP/s: the fastest of 5 rounds of 10, as bench_device has it.
"""
import time

from baleen_program import make_parser


def seconds(torch, a, b, times: int) -> float:
    """Of so many products, and waiting for them."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(times):
        torch.matmul(a, b)
    torch.cuda.synchronize()
    return time.perf_counter() - began


def main():
    parser = make_parser(__doc__)
    parser.add_argument("n", type=int, nargs="?", default=8192)
    n = parser.parse_args().n
    import torch
    a, b = (torch.rand(n, n, device="cuda").mul_(2).sub_(1).bfloat16() for _ in range(2))
    seconds(torch, a, b, 1)
    best = min(seconds(torch, a, b, 10) for _ in range(5)) / 10
    print(f"{2 * n**3 / best / 1e12:.1f}")


if __name__ == "__main__":
    main()

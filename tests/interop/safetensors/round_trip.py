"""Reads IN with the official package, checks every tensor against its formula, and writes the same tensors to OUT.

The formula is tests/support/checkpoint_run.hpp's some_tensor: byte i is 37 i + (length of the name), modulo 256.
"""
import sys

import numpy
from safetensors import safe_open
from safetensors.numpy import load_file, save_file


def expected(name, array):
    numbers = numpy.arange(array.nbytes, dtype=numpy.uint64) * 37 + len(name)
    return (numbers % 256).astype(numpy.uint8).tobytes()


source, target = sys.argv[1:]
tensors = load_file(source)
for name, array in tensors.items():
    if array.tobytes() != expected(name, array):
        sys.exit(f"tensor {name} {array.dtype} {array.shape} has other bytes")
with safe_open(source, framework="numpy") as opened:
    metadata = opened.metadata()
if metadata != {"format": "pt", "baleen.step": "7"}:
    sys.exit(f"metadata is {metadata}")
save_file(tensors, target, metadata={"from": "python"})
print(len(tensors))

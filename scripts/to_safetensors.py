#!/usr/bin/env python3
"""Converts PyTorch's files to safetensors, which `baleen checkpoint import` and `--load` read.

    to_safetensors.py INPUT OUTPUT [--key model] [--prefix module.] [--max-file 2GiB]

INPUT is
  a file of torch.save (.bin, .pt, .pth) with a dictionary of tensors,
  a folder with pytorch_model.bin, or its parts and pytorch_model.bin.index.json,
  a folder of torch.distributed.checkpoint (DCP), which has a file .metadata.
OUTPUT is a file that ends in .safetensors, or a new folder; to a folder config.json and the tokenizer's files come
along.

Files are opened with weights_only=True, and the metadata of DCP with a reader that knows its classes alone, so nothing
in them is run. Needs Python with torch and safetensors. Exit codes: 0 success, 2 bad input.
"""
import argparse
import json
import os
import pickle
import re
import shutil
import sys
import tempfile
from pathlib import Path

UNITS = {"": 1, "B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "KB": 10**3, "MB": 10**6, "GB": 10**9}
INDEX = "pytorch_model.bin.index.json"


class Refused(Exception):
    """What the user is told."""


def size_of(text):
    """Bytes of "500MiB"."""
    number = text.rstrip("kKmMgGiIbB")
    try:
        size = int(float(number) * UNITS[text[len(number):].upper()])
    except (KeyError, ValueError):
        size = 0
    if size < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; give bytes, as in 500MiB or 2GiB")
    return size


def load_file(path):
    """What a file of torch.save holds; only tensors and plain values can come out of it."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True, mmap=False)
    except pickle.UnpicklingError as error:
        found = re.search(r"GLOBAL (\S+)", str(error))
        reason = f"it asks for {found[1]}" if found else "what stands in it is no tensor"
        raise Refused(f"{path}: holds more than tensors and plain values, and is not opened: {reason}; save the "
                      "model's state_dict() alone") from error
    except (RuntimeError, EOFError, OSError, ValueError) as error:
        raise Refused(f"{path}: cannot be read: {str(error).splitlines()[0]}") from error


def load_parts(folder):
    """The tensors of pytorch_model.bin, or of the parts that its index names."""
    if (folder / "pytorch_model.bin").is_file():
        return load_file(folder / "pytorch_model.bin")
    try:
        parts = set(json.loads((folder / INDEX).read_text())["weight_map"].values())
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise Refused(f"{folder / INDEX}: has no `weight_map` of tensors to files") from error
    tensors = {}
    for part in sorted(map(str, parts)):
        if Path(part).name != part:
            raise Refused(f"{folder / INDEX}: names {part}, which is no file of this folder")
        tensors.update(load_file(folder / part))
    return tensors


class DcpMetadata(pickle.Unpickler):
    """Reads DCP's .metadata, and makes nothing but what PyTorch's own writer puts there."""

    ALLOWED = {
        "torch": {"Size", "device", "dtype"},
        "torch.serialization": {"_get_layout"},
        "torch._utils": {"_rebuild_device"},
        "torch.distributed.checkpoint.filesystem": {"_StorageInfo", "_StoragePrefix"},
        "torch.distributed.checkpoint.metadata": None,
        "torch.distributed.checkpoint._extension": {"StreamTransformExtension"},
        "collections": {"OrderedDict"},
        "pathlib": {"PosixPath", "PurePosixPath", "Path"},
        "builtins": {"set", "frozenset", "slice", "complex"},
    }

    def find_class(self, module, name):
        names = self.ALLOWED.get(module, set())
        known = name in names if names is not None else name in DCP_CLASSES
        if module == "torch" and (isinstance(getattr(torch, name, None), (torch.dtype, torch.layout))):
            known = True
        if not known:
            raise Refused(f"its metadata asks for {module}.{name}, which a checkpoint does not need; it is not opened")
        return super().find_class(module, name)


DCP_CLASSES = {
    "BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "MetadataIndex", "StorageMeta", "TensorProperties",
    "TensorStorageMetadata", "_MEM_FORMAT_ENCODING",
}


def load_dcp(folder):
    """All tensors of a DCP folder, whole."""
    from torch.distributed.checkpoint import FileSystemReader
    from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner
    from torch.distributed.checkpoint.metadata import TensorStorageMetadata
    from torch.distributed.checkpoint.state_dict_loader import _load_state_dict

    class SafeReader(FileSystemReader):
        def read_metadata(self, *args, **kwargs):
            with open(folder / ".metadata", "rb") as file:
                metadata = DcpMetadata(file).load()
            if getattr(metadata, "storage_meta", None) is None:
                from torch.distributed.checkpoint.metadata import StorageMeta
                metadata.storage_meta = StorageMeta()
            metadata.storage_meta.load_id = self.load_id
            return metadata

    try:
        metadata = SafeReader(folder).read_metadata()
        entries = metadata.state_dict_metadata.items()
        tensors = {name: torch.empty(entry.size, dtype=entry.properties.dtype)
                   for name, entry in entries if isinstance(entry, TensorStorageMetadata)}
        left = sorted(name for name, entry in entries if not isinstance(entry, TensorStorageMetadata))
        if left:
            print(f"left out, since they are no tensors: {', '.join(left)}")
        _load_state_dict(tensors, storage_reader=SafeReader(folder), planner=DefaultLoadPlanner(), no_dist=True)
    except Refused as error:
        raise Refused(f"{folder}/.metadata: {error}") from error
    except Exception as error:  # of a damaged checkpoint PyTorch raises many kinds
        raise Refused(f"{folder}: cannot be read: {type(error).__name__}: {str(error).splitlines()[0]}") from error
    return tensors


def flattened(values, prefix=""):
    """Tensors by their path, as in model.layers.0.weight; what is none is left out, and told."""
    tensors, left = {}, []
    for name, value in values.items():
        path = f"{prefix}{name}"
        if isinstance(value, torch.Tensor):
            tensors[path] = value
        elif isinstance(value, dict):
            inner, others = flattened(value, path + ".")
            tensors.update(inner)
            left += others
        else:
            left.append(path)
    return tensors, left


def chosen(values, key, path):
    """The dictionary under `key`, "model" or "state.model"."""
    for word in key.split(".") if key else []:
        if not isinstance(values, dict) or word not in values:
            known = ", ".join(map(str, list(values)[:10])) if isinstance(values, dict) else "no dictionary"
            raise Refused(f"{path}: --key {key}: there is no `{word}`; there are: {known}")
        values = values[word]
    if not isinstance(values, dict):
        raise Refused(f"{path}: holds a {type(values).__name__}; it must be a dictionary of tensors (--key chooses "
                      "one)")
    return values


def apart(tensors):
    """Each memory once: of tied weights the first that the file has stays."""
    kept, seen = {}, {}
    for name, tensor in tensors.items():
        if tensor.layout != torch.strided or tensor.is_quantized:
            raise Refused(f"`{name}` is sparse or quantized, which safetensors cannot hold")
        place = (tensor.untyped_storage().data_ptr(), tensor.storage_offset(), tuple(tensor.shape), tensor.stride(),
                 tensor.dtype)
        if tensor.numel() > 0 and place in seen:
            print(f"left out, since it is tied to {seen[place]}: {name}")
            continue
        seen[place] = name
        kept[name] = tensor.contiguous().clone()
    return kept


def write_folder(tensors, source, output, most):
    """A folder as transformers reads it. All or nothing."""
    groups, total = [[]], 0
    for name, tensor in tensors.items():
        if groups[-1] and total + tensor.nbytes > most:
            groups.append([])
            total = 0
        groups[-1].append(name)
        total += tensor.nbytes
    made = Path(tempfile.mkdtemp(prefix=output.name + ".partial.", dir=output.parent))
    try:
        os.chmod(made, 0o755)
        files = {}
        for number, names in enumerate(groups, 1):
            file = "model.safetensors" if len(groups) == 1 else f"model-{number:05d}-of-{len(groups):05d}.safetensors"
            save_file({name: tensors[name] for name in names}, made / file, {"format": "pt"})
            files.update(dict.fromkeys(names, file))
        if len(groups) > 1:
            index = {"metadata": {"total_size": sum(t.nbytes for t in tensors.values())}, "weight_map": files}
            (made / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")
        for file in sorted(source.iterdir()) if source.is_dir() else []:
            if file.is_file() and file.suffix in (".json", ".txt", ".model", ".jinja") and file.name != INDEX:
                shutil.copy(file, made / file.name)
        made.rename(output)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def convert(given):
    source, output = Path(given.input), Path(given.output)
    if output.exists():
        raise Refused(f"{output}: is there already; name another, or remove it")
    if not output.absolute().parent.is_dir():
        raise Refused(f"{output}: there is no folder {output.absolute().parent}")
    if not source.exists():
        raise Refused(f"{source}: there is no such file or folder")
    if source.is_file():
        values = load_file(source)
    elif (source / ".metadata").is_file():
        values = load_dcp(source)
    elif (source / "pytorch_model.bin").is_file() or (source / INDEX).is_file():
        values = load_parts(source)
    else:
        raise Refused(f"{source}: has neither .metadata (DCP) nor pytorch_model.bin nor {INDEX}")
    if source.is_dir() and (source / ".metadata").is_file() and given.key:
        values = {name[len(given.key) + 1:]: tensor for name, tensor in values.items()
                  if name.startswith(given.key + ".")}
        if not values:
            raise Refused(f"{source}: --key {given.key}: no tensor's name begins with `{given.key}.`")
    else:
        values = chosen(values, given.key, source)
    tensors, left = flattened(values)
    if left:
        print(f"left out, since they are no tensors: {', '.join(left)}")
    if not tensors:
        raise Refused(f"{source}: has no tensors (--key chooses a dictionary inside)")
    if given.prefix:
        tensors = {name.removeprefix(given.prefix): tensor for name, tensor in tensors.items()}
    tensors = apart(tensors)
    if output.suffix == ".safetensors":
        partial = output.with_name(output.name + f".partial.{os.getpid()}")
        try:
            save_file(tensors, partial, {"format": "pt"})
            partial.rename(output)
        finally:
            partial.unlink(missing_ok=True)
    else:
        write_folder(tensors, source, output, given.max_file)
    print(f"{len(tensors)} tensors in {output}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", metavar="INPUT")
    parser.add_argument("output", metavar="OUTPUT")
    parser.add_argument("--key", default="", help="the dictionary inside that is meant, as in model or state.model")
    parser.add_argument("--prefix", default="", help="taken off the names that begin with it, as in module.")
    parser.add_argument("--max-file", type=size_of, default=size_of("2GiB"),
                        help="most bytes of a file in a folder [2GiB]")
    given = parser.parse_args()
    global torch, save_file
    try:
        import torch
        from safetensors.torch import save_file
    except ImportError as error:
        sys.exit(f"error: this needs torch and safetensors, as of `pip install torch safetensors`: {error}")
    try:
        convert(given)
    except Refused as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()

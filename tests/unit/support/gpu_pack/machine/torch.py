"""Stands for PyTorch on a GPU where gpu_check.sh is rehearsed: it takes the calls of tests/bench/throughput_torch.py,
tests/bench/matmul_torch.py and tests/golden/gpt.py, and computes nothing. A step takes about a millisecond."""
import random
import sys
import time
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace
from unittest.mock import MagicMock

__version__ = "0 (of the rehearsal)"
bfloat16 = "bfloat16"
Tensor = MagicMock
listeners = []


class Ids(list):
    """What randint gives: it is sliced, and asked for its numbers."""

    def tolist(self):
        return list(self)


class Parameter:
    """A shape."""

    def __init__(self, shape):
        self.shape = shape

    def dim(self):
        return len(self.shape)

    def normal_(self, *_, **__):
        return self


class Module:
    """Knows its parameters; what it is called with goes nowhere."""

    def __call__(self, *_):
        return MagicMock()

    def to(self, device):
        assert device == "cuda", f"the model goes to {device}, not to the GPU"
        return self

    def named_parameters(self, above=""):
        for name, value in vars(self).items():
            if isinstance(value, Parameter):
                yield above + name, value
            elif isinstance(value, Module):
                yield from value.named_parameters(above + name + ".")

    def parameters(self):
        return [parameter for _, parameter in self.named_parameters()]


class ModuleList(Module):
    """Modules by their numbers."""

    def __init__(self, modules):
        for number, module in enumerate(modules):
            setattr(self, str(number), module)

    def __len__(self):
        return len(vars(self))


class LayerNorm(Module):
    """Two vectors."""

    def __init__(self, dim, eps):
        self.weight, self.bias, self.eps = Parameter((dim,)), Parameter((dim,)), eps


class AdamW:
    """Fused where it is told so, and where its groups do not say otherwise, as PyTorch's."""

    def __init__(self, groups, **words):
        self.param_groups = [{"fused": None, **words, **group} for group in groups]

    def zero_grad(self, set_to_none):
        assert set_to_none

    def step(self):
        name = "aten::_fused_adamw_" if self.param_groups[0]["fused"] else "aten::add_"
        for listener in listeners:
            listener.heard(name)
        time.sleep(1e-3)


class TorchDispatchMode:
    """Hears of the operators that are called in it."""

    def __enter__(self):
        listeners.append(self)

    def __exit__(self, *_):
        listeners.remove(self)

    def heard(self, name):
        def function():
            return None

        function._schema = SimpleNamespace(name=name)
        self.__torch_dispatch__(function, ())


def randint(most, shape):
    return Ids(random.randrange(most) for _ in range(shape[0]))


def module(name, **members):
    """A module of this one, which `import` then finds."""
    made = ModuleType("torch." + name)
    vars(made).update(members)
    sys.modules["torch." + name] = made
    return made


def same(value):
    return value


def shape_of(*sizes):
    return sizes


empty = zeros = shape_of
compile = same
rand, matmul, stack, addmm, Generator = (MagicMock() for _ in range(5))
no_grad = nullcontext
cuda = module("cuda", is_available=lambda: True, synchronize=lambda: None)
optim = module("optim", AdamW=AdamW)
nn = module("nn", Module=Module, ModuleList=ModuleList, Parameter=Parameter, LayerNorm=LayerNorm,
            functional=module("nn.functional", cross_entropy=MagicMock()),
            utils=SimpleNamespace(clip_grad_norm_=lambda parameters, clip: None))
utils = module("utils", _python_dispatch=module("utils._python_dispatch", TorchDispatchMode=TorchDispatchMode))


def autocast(device, dtype):
    assert (device, dtype) == ("cuda", bfloat16)
    return nullcontext()


def set_num_threads(_):
    pass


manual_seed = set_num_threads

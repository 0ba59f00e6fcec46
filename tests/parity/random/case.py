"""One case of the suite: a model, a mesh, a plan; what it looks like as a manifest and as a command."""
import random
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
STEPS = 3
MEMORY = 10**9  # MiB for all ranks: no plan is refused for what this machine lacks


@dataclass
class Case:
    """`mesh` has its axes outermost first; `plan` is a list of strategies with their options."""
    model: str  # a script below this folder
    mesh: dict
    plan: list
    arguments: dict = field(default_factory=dict)  # of the script; True: a flag
    command: str = "verify"  # or "plan": nothing runs
    dtype: str = "fp64"
    transport: str = ""  # empty: what the program takes by itself
    offload: str = ""  # where `offload` keeps bytes; empty: what the program takes by itself
    plugins: str = ""  # a folder of further plugins
    more: str = ""  # of the manifest, as TOML

    def ranks(self):
        """How many ranks the mesh has."""
        count = 1
        for size in self.mesh.values():
            count *= size
        return count

    def dtypes(self):
        """What the comparison may say that it was computed in: the coarsest that is computed in."""
        if self.dtype == "fp64":
            return ("fp64",)
        coarser = [options.get("dtype", options.get("method")) for name, options in self.plan
                   if name in ("precision", "compress")]
        return (self.dtype, *coarser)

    def __str__(self):
        mesh = " x ".join(f"{axis} {size}" for axis, size in self.mesh.items())
        plan = ", ".join(" ".join([name, *(f"{key}={value}" for key, value in options.items())])
                         for name, options in self.plan)
        return f"{Path(self.model).stem} on {mesh}: {plan or 'no plan'}"

    def manifest(self, folder="."):
        """The TOML that asks for it; `folder` is where what lies on disks may lie."""
        text = f'[cluster]\nhosts = [{{ name = "localhost", ranks = {self.ranks()} }}]\n[mesh]\n'
        text += "".join(f"{axis} = {size}\n" for axis, size in self.mesh.items())
        text += f"order = {_toml(list(self.mesh))}\n"
        for name, options in self.plan:
            text += f'[[plan]]\nstrategy = "{name}"\n'
            text += "".join(f"{key} = {_toml(value)}\n" for key, value in options.items())
        if self.transport == "hierarchy":
            text += '[transport]\nintra_host = "shm"\ninter_host = "ucx"\nranks_per_host = 2\n'
        elif self.transport:
            text += f'[transport]\nplugin = "{self.transport}"\n'
        if self.offload:
            text += f'[offload]\nplugin = "{self.offload}"\n'
        if self.offload == "nvme":
            text += f'path = {_toml(str(folder))}\n'
        text += self.more
        if self.command == "plan":
            text += f"[compute]\nmemory = {MEMORY}\n"
        return text

    def script_words(self, folder):
        """The arguments of the script; the text lies in `folder`."""
        given = dict(self.arguments)
        if "context" in given:
            given["text"] = Path(folder) / "text.txt"
        words = []
        for key, value in given.items():
            words += [f"--{key}"] if value is True else [f"--{key}", str(value)]
        return words

    def words(self, program, folder, command=""):
        """The whole command; `folder` holds what write() writes."""
        command = command or self.command
        words = [str(program), command, str(HERE / self.model), "--manifest", str(Path(folder) / "ranks.toml")]
        if self.plugins:
            words += ["--plugin-path", str(self.plugins)]
        if command == "verify":
            words += ["--steps", str(STEPS)]
        if command != "run" and self.command == "verify":  # a plan of what is verified, too
            words += ["--dtype", self.dtype]
        return words + ["--"] + self.script_words(folder)

    def write(self, folder):
        """Writes the manifest, and the text that some models read."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "ranks.toml").write_text(self.manifest(folder))
        if "context" in self.arguments:
            (folder / "text.txt").write_text(_text())


def _toml(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _text():
    """60,000 letters of no meaning, always the same."""
    rng = random.Random("text")
    words = ("".join(rng.choices("abcdefghijklmnopqrstuvwxyz.,;=", k=rng.randint(1, 9))) for _ in range(10000))
    return " ".join(words)

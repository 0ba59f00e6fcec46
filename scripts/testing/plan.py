"""What each level runs: an ordered list of stages, each one build and what of it is run."""
from dataclasses import dataclass, field

SANITIZED = "^(unit|error)$"
RARE = "^(slow|gpu|bench)$"
# A landing runs one of so many cases of what scripts/test.sh runs of a matrix, so that a warm one takes 15 minutes.
THINS = 2
# Suites that run on another architecture too: graphs, gradients, and the kernels of the processor.
FOREIGN = ["graph", "ops", "unit.cpu"]
ASAN = {
    # Without intercept_tls_get_addr=0 GCC 12's leak checker reads thread-local blocks of opened libraries at wild
    # addresses and dies.
    "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:intercept_tls_get_addr=0",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
}


@dataclass
class Stage:
    """One build folder, and the cases of it that run."""
    name: str
    preset: str
    folder: str = ""  # of the build, below build/; empty: the preset's
    configure: list = field(default_factory=list)  # further arguments of cmake
    targets: list = field(default_factory=list)  # empty: everything
    labels: str = ""  # a case runs if one of its labels matches; empty: any
    without: str = RARE  # and none matches this
    names: str = ""  # and its name matches
    without_names: str = ""  # and does not match
    sampled: bool = False  # of a matrix, only the part of the day
    thins: int = 1  # and of that part one of so many
    sanitizes: bool = False  # its build has sanitizers
    builds_only: bool = False
    command: list = field(default_factory=list)  # instead of a build: a program of this repository, run as it is
    environment: dict = field(default_factory=dict)


def only(preset):
    """The stage of a preset that somebody asks for by itself."""
    if preset == "tsan":
        return Stage("tsan", "tsan", targets=["tests_threads"], labels="^threads$", without="^(gpu|bench)$", sanitizes=True)
    return Stage(preset, preset, sampled=True, sanitizes=preset == "asan", environment=ASAN if preset == "asan" else {})


def stages(level, has_cuda):
    """The stages of a level: `small` (the default), `ci` (before a landing), `all`."""
    require = ["-DBALEEN_REQUIRE_CUDA=ON"] if has_cuda else []
    asan = Stage("asan", "asan", targets=["tests_unit", "tests_error"], labels=SANITIZED, sampled=level != "all",
                 sanitizes=True, configure=["-DBALEEN_CUDA=OFF", "-DBALEEN_JOIN_SOURCES=ON"], without_names="^structure/", environment=ASAN)
    if level == "ci":
        # These three checks double the time that everything takes to compile, and two of them find on this processor what
        # AddressSanitizer finds as well.
        asan.folder, asan.thins = "landing_asan", THINS
        asan.configure = asan.configure + ["-DBALEEN_SANITIZE_EXCEPT=null,alignment,object-size"]
    if level == "small":
        return [Stage("release", "release", configure=require, sampled=True)]
    if level == "ci":
        # What the sanitizers run is not run again without them, except what they cannot run. Less optimising saves a fifth of
        # the time from nothing; in a folder of their own, so that nobody's build begins anew.
        release = Stage("release", "release", folder="landing", sampled=True, thins=THINS, targets=["tests_landing"],
                        configure=require + ["-DBALEEN_CORE_OPTIMISATION=-O1", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG"])
        release.without = "^(slow|gpu|bench|sanitized)$"
        return [asan, release]
    return [
        Stage("release", "release", configure=require, without="^bench$",
              environment={"BALEEN_PROMISE_TRIES": "1"}),
        asan,
        *([Stage("asan cuda", "asan", folder="asan_cuda", targets=["test_unit.cuda", "test_unit.cuda_dnn"], labels="^unit$",
                 names=r"^unit\.cuda(_dnn)?/", sanitizes=True, configure=["-DBALEEN_CUDA=ON", "-DBALEEN_JOIN_SOURCES=ON"],
                 environment=ASAN)] if has_cuda else []),
        only("tsan"),
        # Each source includes what it uses, which needs no optimiser.
        Stage("plain headers", "release", folder="plain", builds_only=True,
              configure=["-DBALEEN_PRECOMPILE=OFF", "-DBALEEN_JOIN_SOURCES=OFF", "-DBALEEN_CORE_OPTIMISATION=-O0",
                         "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG"]),
        Stage("tidy", "", command=["scripts/lint.sh", "--tidy", "--all"]),
        # Another architecture, under qemu: what depends on the processor, or on the order in which a compiler evaluates.
        Stage("aarch64 libraries", "", command=["scripts/testing/aarch64.sh"]),
        Stage("aarch64", "aarch64", targets=["test_" + suite for suite in FOREIGN], labels="^unit$",
              names="^(" + "|".join(suite.replace(".", r"\.") for suite in FOREIGN) + ")/"),
    ]

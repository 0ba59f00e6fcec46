"""Whether the machine itself stood still while tests ran: one that is virtual may be paused by its host, or get no
processor from it. Every clock goes on meanwhile, so cases end at their limits, and that says nothing of the tree."""
import os
import pathlib
import threading
import time
from dataclasses import dataclass

# A beat is due this often. With all processors busy it comes some tenths of a second late.
BEAT = 1.0
# So many seconds without a processor are a standstill: shorter ones no case's limit is near to.
LEAST = 5.0


@dataclass
class Beat:
    at: float       # seconds of a clock that never goes back
    elapsed: float  # seconds since the beat before
    stolen: float   # of them, for which the host gave the processors to others: seconds of one processor on average


def stolen():
    """Seconds since the start that the host kept each processor from this machine; 0 where it does not tell."""
    try:
        words = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
        return int(words[8]) / os.sysconf("SC_CLK_TCK") / (os.cpu_count() or 1)
    except (OSError, IndexError, ValueError):
        return 0.0


def standstills(beats):
    """Pairs (when it ended, seconds) of the stretches in which more than half of each beat's time was lost."""
    found, lost = [], 0.0
    for beat in [*beats, Beat(0, BEAT, 0)]:
        without = max(beat.elapsed - BEAT, beat.stolen)
        if without > beat.elapsed / 2:
            lost, ended = lost + without, beat.at
        elif lost:
            if lost >= LEAST:
                found.append((ended, lost))
            lost = 0.0
    return found


class Watch:
    """Counts beats from its start to its end: `with Watch() as watch: ...; watch.standstills`."""

    def __enter__(self):
        self._beats, self._over = [], threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()
        return self

    def _beat(self):
        at, before = time.monotonic(), stolen()
        is_over = False
        while not is_over:
            is_over = self._over.wait(BEAT)
            now, so_far = time.monotonic(), stolen()
            self._beats.append(Beat(now, now - at, so_far - before))
            at, before = now, so_far

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()
        self.standstills = standstills(self._beats)

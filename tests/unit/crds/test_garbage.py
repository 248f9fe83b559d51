"""What is there at the start is never looked at again; cycles that are made later are still found, and their memory."""

import subprocess
import sys

PROGRAM = """
import gc, weakref
from mcptasks_crds.garbage import spare_collections

class Held:
    pass

spare_collections((5_000, 10, 10))
assert gc.get_threshold() == (5_000, 10, 10)
assert gc.get_freeze_count() > 1_000, gc.get_freeze_count()

held = Held()
held.itself = held
seen = weakref.ref(held)
del held
new = []
while seen() is not None and len(new) < 20_000:
    new.append([])
assert 4_000 < len(new) < 6_000, len(new)
"""


def test_cycles_are_looked_for_as_rarely_as_is_said_and_not_among_what_was_there() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stderr) == (0, "")

"""Children of a process that has imported everything they need: each is there in no time.

The parent itself does no such work: threads do not survive a fork.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path


def forked(work: Callable[[], object]) -> int:
    """A child that does some work, by its number."""
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    return child


def import_what_publishing_needs(publish: Callable[[Path], object]) -> None:
    """Import what a child had imported when it had published in a folder of its own."""
    from hushtable.kernel.counting.readers.records import split_line

    with tempfile.TemporaryDirectory() as folder:
        names = Path(folder, "names.json")

        def work() -> None:
            os.environ["HUSHTABLE_STATE"] = f"{folder}/state"
            publish(Path(folder))
            names.write_text(json.dumps(list(sys.modules)))

        assert os.waitpid(forked(work), 0)[1] == 0
        for name in json.loads(names.read_text()):
            with contextlib.suppress(ImportError):  # made while others were imported
                importlib.import_module(name)
    split_line("age,job", ",")  # loads the compiler, which starts no threads

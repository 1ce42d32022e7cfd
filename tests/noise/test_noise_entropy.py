"""The sources of bits: what they give, and that no two of them ever give the same."""

from __future__ import annotations

import ast
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import hushtable.kernel.noise
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.kernel.noise.entropy import Keystream, SystemEntropy

KEY = bytes(range(32))


def counter_blocks(count: int) -> bytes:
    """AES of 0, 1, 2, …: the keystream of CTR from its definition."""
    block_cipher = Cipher(algorithms.AES(KEY), modes.ECB()).encryptor()
    return b"".join(block_cipher.update(i.to_bytes(16, "big")) for i in range(count))


def test_fill_gives_the_keystream_in_order_and_once():
    stream, pieces = Keystream(KEY), []
    for shape, dtype in (((5,), np.uint8), ((3, 7), np.uint16), ((90_001,), np.uint64)):
        out = np.ones(shape, dtype=dtype)
        stream.fill(out)
        pieces.append(out.tobytes())
    drawn = b"".join(pieces)
    assert drawn == counter_blocks(len(drawn) // 16 + 1)[: len(drawn)]


def test_bits_are_used_once_whatever_their_number():
    stream, widths = Keystream(KEY), [1, 0, 13, 1000, 5000, 1, 64, 127]
    value, shift = 0, 0
    for width in widths:
        bits = stream.bits(width)
        assert 0 <= bits < 1 << width
        value |= bits << shift
        shift += width
    stream.fill(rest := np.zeros(4, dtype=np.uint8))
    whole = counter_blocks(400)
    assert value == int.from_bytes(whole, "little") & ((1 << shift) - 1)
    used = -(-shift // 1024) * 128
    assert rest.tobytes() == whole[used : used + 4]


def test_only_contiguous_unsigned_arrays_are_filled():
    stream = Keystream(KEY)
    for out in (np.zeros(4), np.zeros(4, dtype=np.int64), np.zeros(8, dtype=np.uint8)[::2]):
        with pytest.raises(ValueError):
            stream.fill(out)
    with pytest.raises(ValueError):
        Keystream(b"short")


def draw(source) -> bytes:
    source.fill(out := np.zeros(4, dtype=np.uint64))
    return out.tobytes() + source.bits(128).to_bytes(16, "little")


def test_system_sources_are_private_and_all_different():
    source = SystemEntropy()
    child = source.spawn()
    assert source.private
    assert child.private
    assert child._stream is not source._stream
    assert len({draw(s) for s in (source, source, SystemEntropy(), child)}) == 4


def test_threads_never_share_bits():
    source = SystemEntropy()
    words: list[int] = []

    def work() -> None:
        for _ in range(300):
            source.fill(out := np.zeros(50, dtype=np.uint64))
            words.extend([*out.tolist(), source.bits(64)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(words) == len(set(words)) == 4 * 300 * 51


FORKING = """
import os, signal, sys
import numpy as np
from hushtable.kernel.noise.entropy import SystemEntropy

signal.alarm(20)
source = SystemEntropy()
source.bits(3)                      # leaves spare bits in the buffer
inherited = source._stream
if HELD:
    inherited._lock.acquire()       # as another thread might, at the moment of the fork

def report():
    out = np.zeros(4, dtype=np.uint64)
    bits = source.bits(128)
    source.fill(out)
    os.write(1, f"{bits:x} {out.tobytes().hex()}\\n".encode())

for depth in (1, 1, 2):
    child = os.fork()
    if not child:
        if depth == 2 and os.fork():
            os.wait()
        report()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
if HELD:
    inherited._lock.release()
report()
assert source._stream is inherited  # the parent goes on where it was
"""


@pytest.mark.parametrize("held", [False, True])
def test_forked_children_draw_differently(held):
    script = FORKING.replace("HELD", str(held))
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=900
    )
    assert run.returncode == 0, run.stderr
    drawn = run.stdout.split()
    assert len(drawn) == len(set(drawn)) == 2 * 5


def test_a_seeded_source_repeats_and_is_not_private():
    def forked(seed: int) -> list[bytes]:
        source = SeededEntropy(seed)
        child, sibling = source.spawn(), source.spawn()
        return [draw(s) for s in (source, child, sibling, child.spawn())]

    assert forked(1) == forked(1)
    assert len({*forked(1), *forked(2), *forked(12)}) == 12
    assert not SeededEntropy(1).private
    assert not SeededEntropy(1).spawn().private


def test_no_ordinary_generator_and_no_seed_in_this_package():
    for path in Path(hushtable.kernel.noise.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in getattr(node, "names", []) if isinstance(a, ast.alias)]
            names += [getattr(node, field, None) or "" for field in ("module", "attr", "arg", "id")]
            for name in names:
                parts = str(name).lower().split(".")
                assert not {"random", "default_rng", "seed"} & set(parts), (path.name, name)


def test_only_the_bulk_sampler_needs_the_compiler():
    script = (
        "import sys, hushtable.kernel.noise.exact, hushtable.kernel.noise.tables;"
        "import hushtable.evaluation.seeded_entropy;"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0

"""How long it takes from `hush explore` to a drawn chart, in a browser that is already open.

    python -m benchmarks.first_chart [--times 3] [--into docs/results/serving.md]

Two made-up tables are published, a census of few attributes and a survey of sixteen. Each time a
new server is started, and the page is opened in a new window without a cache. The browser is the
Chromium of the machine, or that of HUSHTABLE_CHROMIUM.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.machine import machine
from benchmarks.options import Parser, own_state
from benchmarks.results_page import markdown_table, put

TABLES = ("census", "survey")
NAMES = ("chromium", "chromium-browser", "google-chrome")


def publish(folder: Path, name: str) -> Path:
    """A release of a made-up table, as a newcomer makes it."""
    hush = [sys.executable, "-m", "hushtable"]
    table, schema, out = (folder / f"{name}.{end}" for end in ("parquet", "toml", "release"))
    made = [*hush, "generate", name, "-o", str(table), "--schema", str(schema)]
    subprocess.run(made, check=True, capture_output=True)
    published = [*hush, "publish", str(table), "--schema", str(schema), "-e", "1", "-o", str(out)]
    subprocess.run(published, check=True, capture_output=True)
    return out


def seconds(release: Path, browser: Any) -> tuple[float, float]:
    """Until the address is there, and until the chart is."""
    command = [sys.executable, "-m", "hushtable", "explore", str(release), "--no-browser", "--json"]
    window = browser.new_context().new_page()
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            address = json.loads(server.stdout.readline())["url"]
            listening = time.perf_counter() - start
            window.goto(address)
            window.wait_for_selector("#chart[data-drawn] svg", timeout=60_000)
            return listening, time.perf_counter() - start
        finally:
            server.send_signal(signal.SIGINT)
            window.context.close()


def main(arguments: list[str] | None = None) -> None:
    """Publish, explore, and look at the clock."""
    parser = Parser(prog="python -m benchmarks.first_chart", description=__doc__.split("\n")[0])
    parser.add_argument("--times", type=int, default=3, help="how often each is opened")
    parser.add_argument(
        "--into", type=Path, metavar="FILE.md", help="the page that has the figures"
    )
    given = parser.parse_args(arguments)
    path = os.environ.get("HUSHTABLE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), "")
    if not path:
        parser.error("no Chromium on this machine: install one, or name it by HUSHTABLE_CHROMIUM")
    from playwright.sync_api import sync_playwright

    rows = []
    with own_state(), tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name in TABLES:
            release = publish(Path(scratch), name)
            found = [seconds(release, browser) for _ in range(given.times)]
            rows.append([name, *(f"{median(times):.2f} s" for times in zip(*found, strict=True))])
            rows[-1].append(f"{max(drawn for _, drawn in found):.2f} s")
        browser.close()
    columns = ["table", "address is printed", "chart is drawn", f"slowest of {given.times}"]
    text = f"Measured on {machine()}.\n\n{markdown_table(columns, rows)}"
    print(text)
    if given.into:
        put(given.into, "First chart", text)


if __name__ == "__main__":
    main()

"""E6: compute, HTTP and text threads are apart from each other, countable and pinnable by name; nothing is pinned."""
import collections
import os
import pathlib

from takt_process import ROOT


def threads(server):
    tasks = pathlib.Path(f"/proc/{server.process.pid}/task")
    return [(int(task.name), (task / "comm").read_text().strip()) for task in tasks.iterdir()]


def test_threads_are_told_apart_by_name_and_none_is_pinned(start):
    server = start("--threads", "3", "--set", "http.threads=2", "--set", "text.threads=4", model=str(ROOT / "tests/data/tiny.gguf"))
    by_name = collections.Counter(name for _, name in threads(server))
    # The engine's own thread is the third that computes.
    assert by_name["takt-compute"] == 2 and by_name["takt-engine"] == 1
    assert by_name["takt-http"] == 2 and by_name["takt-text"] == 4
    allowed = os.sched_getaffinity(0)
    for task, name in threads(server):
        assert os.sched_getaffinity(task) == allowed, name

"""E9: a model on a slow disk. The server is alive meanwhile, says how far it is, gives up on nothing and can be stopped."""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess

import pytest
from takt_process import wait_until


@pytest.fixture
def slow_disk(tmp_path):
    """(environment of a program whose disk stops in the middle of its files, what lets the disk go on)"""
    compiler = shutil.which("cc")
    assert compiler, "no cc, although Takt was built here"
    library, gate = tmp_path / "slow_disk.so", tmp_path / "gate"
    source = pathlib.Path(__file__).parent / "slow_disk.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    return lambda offset: {**os.environ, "LD_PRELOAD": str(library), "SLOW_DISK_OFFSET": str(offset), "SLOW_DISK_GATE": str(gate)}, gate.touch


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def begin(start, model, environment):
    """A server that loads, as far as its disk lets it."""
    server = start(model=model, port=free_port(), wait=False, env=environment(os.path.getsize(model) * 3 // 4))

    def progress():
        assert server.process.poll() is None, list(server.lines)
        try:
            status, body = server.get("/ready")
        except OSError:
            return None
        message = json.loads(body)["error"]["message"] if status == 503 else body
        return re.match(r"loading tiny: (\d+) %", message)

    return server, int(wait_until(progress, "some progress")[1])


def test_a_slow_disk_delays_the_start_and_nothing_else(start, tiny_model, slow_disk):
    environment, go_on = slow_disk
    server, percent = begin(start, tiny_model, environment)
    assert 0 < percent < 100
    assert server.get("/health")[0] == 200
    status, answer = server.post("/v1/completions", {"prompt": "Hi"})
    assert status == 503 and answer["error"]["code"] == "loading" and "loading tiny" in answer["error"]["message"]
    assert any(line.startswith("loading tiny: ") for line in server.lines)
    assert not any(line.startswith("ready: ") for line in server.lines)
    go_on()
    server.wait_until_ready()
    slow = server.post("/v1/completions", {"prompt": "Hi", "temperature": 0, "max_tokens": 8})[1]["choices"]
    assert slow == start(model=tiny_model).post("/v1/completions", {"prompt": "Hi", "temperature": 0, "max_tokens": 8})[1]["choices"]


def test_a_server_that_waits_for_its_disk_can_be_stopped(start, tiny_model, slow_disk):
    environment, _ = slow_disk
    server, _ = begin(start, tiny_model, environment)
    server.signal()
    assert server.wait(10) == 0

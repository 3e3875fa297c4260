"""Starts `takt` as users do and waits for what it says."""
import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("TAKT_BINARY", str(ROOT / "build" / "release" / "takt"))
PATIENCE_SECONDS = 60


def wait_until(condition, what, seconds=PATIENCE_SECONDS):
    """Polls until the condition gives something true, and returns it."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"waited {seconds} s in vain for {what}"
        time.sleep(0.01)


def run(*arguments, stdin="", timeout=PATIENCE_SECONDS, **options):
    """Runs `takt` to its end."""
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([BINARY, *arguments], input=stdin, stderr=subprocess.PIPE, text=True, timeout=timeout, **options)


class TaktServer:
    """`takt serve` on a free port."""

    def __init__(self, *arguments, model="fake:length=16,step_ms=1", wait=True, port=0, **options):
        self.lines = collections.deque(maxlen=1000)
        command = [BINARY, "serve", "--port", str(port), *(["--model", model] if model else []), *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.url = f"http://127.0.0.1:{port}" if port else None
        if wait:
            self.wait_until_ready()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def wait_until_ready(self):
        def ready():
            assert self.process.poll() is None, f"takt ended: {list(self.lines)}"
            return next((match[1] for line in list(self.lines) if (match := re.match(r"ready: (http://\S+)", line))), None)

        self.url = wait_until(ready, "the server to be ready")

    @property
    def port(self):
        return int(self.url.rsplit(":", 1)[1])

    def get(self, path, headers=None):
        """(status, body) of a GET."""
        request = urllib.request.Request(self.url + path, headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def post(self, path, body, headers=None):
        """(status, parsed body) of a POST of JSON, or of raw bytes."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json", **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
                return response.status, json.loads(response.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def wait(self, seconds=PATIENCE_SECONDS):
        code = self.process.wait(seconds)
        self.reader.join(seconds)
        return code

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

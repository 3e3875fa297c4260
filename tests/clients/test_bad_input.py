"""What cannot be served or used: one clear line, and an exit code other than 0."""
import json
import os
import pathlib
import shutil
import tempfile

import pytest
from takt_process import run

NOT_FINITE = "tensor output.weight: holds a value that is not finite (NaN or infinity)"


def one_line_of_error(result, code):
    assert result.returncode == code, result
    # What a server says while it starts goes to standard output; of takt chat --model, where answers go there, to standard error.
    chat = result.args[1] == "chat"
    lines = [line for line in result.stderr.splitlines() if line.startswith("takt: ") or not chat]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("takt: ")
    return lines[0]


COMMANDS = {"inspect": ["inspect"], "serve": ["serve", "--port", "0", "--model"], "chat": ["chat", "--model"],
            "tokenize": ["debug", "tokenize", "--model"], "logprobs": ["debug", "logprobs", "--model"]}


@pytest.fixture(params=["device", "endless device", "folder", "pipe", "missing", "link to nothing", "link in a circle", "nothing", "long name",
                        "inside a file"])
def no_model(request, tmp_path):
    """(what cannot be a model, what is said about it)"""
    pipe, nowhere, circle = tmp_path / "pipe.gguf", tmp_path / "nowhere.gguf", tmp_path / "circle.gguf"
    os.mkfifo(pipe)
    nowhere.symlink_to(tmp_path / "gone")
    circle.symlink_to(circle)
    return {"device": ("/dev/null", "not a regular file"), "endless device": ("/dev/zero", "not a regular file"),
            "folder": (str(tmp_path), "is a folder"), "pipe": (str(pipe), "not a regular file"),
            "missing": ("/nonexistent/model.gguf", "no model file"), "link to nothing": (str(nowhere), "no model file"),
            "link in a circle": (str(circle), "Too many levels"), "nothing": ("", "neither a file nor a known model"),
            "long name": ("x" * 5000 + ".gguf", "name too long"), "inside a file": ("/dev/null/model.gguf", "model")}[request.param]


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_no_file_is_one_clear_line(command, no_model):
    path, said = no_model
    assert said in one_line_of_error(run(*COMMANDS[command], path, timeout=20), 3)


def become_nobody():
    """Nobody may read everything but root: tests may run as root."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)


@pytest.fixture
def public_folder():
    """A folder that every user can enter, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as path:
        os.chmod(path, 0o777)
        yield pathlib.Path(path)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_model_that_may_not_be_read_is_one_clear_line(command, public_folder, tiny_model):
    secret = public_folder / "secret.gguf"
    shutil.copyfile(tiny_model, secret)
    secret.chmod(0)
    result = run(*COMMANDS[command], str(secret), preexec_fn=become_nobody, env={**os.environ, "HOME": str(public_folder)})
    if command == "tokenize":
        assert result.returncode == 1 and "Permission denied" in json.loads(result.stdout)["error"]
    else:
        assert "Permission denied" in one_line_of_error(result, 3)


@pytest.fixture
def not_finite(tmp_path, tiny_model):
    path = tmp_path / "not_finite.gguf"
    path.write_bytes(open(tiny_model, "rb").read()[:-256] + b"\xff" * 256)
    return str(path)


@pytest.mark.parametrize("command", ["inspect", "serve", "logprobs"])
def test_weights_that_are_not_finite_are_named(command, not_finite):
    assert NOT_FINITE in one_line_of_error(run(*COMMANDS[command], not_finite), 3)


def test_inspect_shows_a_file_that_it_cannot_recommend(not_finite):
    text = run("inspect", not_finite)
    assert "general.architecture" in text.stdout and f"Cannot be served here: {NOT_FINITE}" in text.stdout
    assert json.loads(run("inspect", "--json", not_finite).stdout)["unsupported"] == NOT_FINITE
    quick = run("inspect", "--metadata-only", not_finite)
    assert quick.returncode == 0 and "not finite" not in quick.stdout

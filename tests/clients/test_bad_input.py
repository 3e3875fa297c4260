"""What cannot be served or used: one clear line, and an exit code other than 0."""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile

import pytest
from takt_process import BINARY, run, wait_until

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


@pytest.mark.parametrize("command, code", [
    (["serve", "--config"], 2), (["serve", "--port", "0", "--model", "fake:", "--api-key-file"], 5),
    (["serve", "--port", "0", "--model", "fake:", "--step-log"], 5), (["debug", "render", "--template"], 5)])
def test_a_file_that_may_not_be_read_or_written_is_one_clear_line(public_folder, command, code):
    secret = public_folder / "secret"
    secret.touch(0)
    line = one_line_of_error(run(*command, str(secret), preexec_fn=become_nobody, env={**os.environ, "HOME": str(public_folder)}), code)
    assert "Permission denied" in line and str(secret) in line


def test_a_folder_that_a_pull_may_not_write_is_one_clear_line(public_folder):
    cache = public_folder / "cache"
    cache.mkdir(0o555)
    environment = {**os.environ, "HOME": str(public_folder), "XDG_CACHE_HOME": str(cache)}
    line = one_line_of_error(run("pull", "smollm2", preexec_fn=become_nobody, env=environment), 5)
    assert "Permission denied" in line and str(cache) in line


# A file that may not grow stands for a full disk where nothing can be mounted.
def limit_files(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("arguments", [["inspect", "{model}"], ["inspect", "--json", "{model}"], ["serve", "--print-config"]])
def test_a_report_that_cannot_be_written_is_one_clear_line(tmp_path, tiny_model, arguments):
    arguments = [argument.format(model=tiny_model) for argument in arguments]
    with open("/dev/full", "w") as full:
        assert "No space left" in one_line_of_error(run(*arguments, stdout=full), 5)
    with open(tmp_path / "report", "w") as limited:
        assert "File too large" in one_line_of_error(run(*arguments, stdout=limited, preexec_fn=limit_files(100)), 5)


# As `takt ... | head -1`, and a reader that reads nothing at all.
@pytest.mark.parametrize("lines", [0, 1])
def test_a_reader_that_leaves_is_no_error_of_any_command_that_prints(start, tmp_path, tiny_model, lines):
    server = start("--step-log", str(tmp_path / "steps"), model="fake:length=3000,context=9000,blocks=2000")
    server.post("/v1/completions", {"prompt": "x", "max_tokens": 3000})
    report, trace, given = tmp_path / "report.json", tmp_path / "trace.csv", tmp_path / "given"
    trace.write_text("input_tokens,output_tokens\n1,2\n")
    measured = run("bench", server.url, "--rate", "50", "--requests", "20", "--warm-up", "0", "--output", "3", "--quiet", "--json", str(report))
    assert measured.returncode == 0, measured.stderr
    for arguments, typed in ((["steps", str(tmp_path / "steps")], ""), (["steps", str(tmp_path / "steps"), "--html", "-"], ""),
                             (["inspect", tiny_model], ""), (["inspect", "--json", tiny_model], ""), (["serve", "--print-config"], ""),
                             (["explain", "--url", server.url, "--slowest", "3"], ""), (["trace", "info", *[str(trace)] * 3], ""),
                             (["bench", "compare", str(report), str(report)], ""),
                             (["bench", server.url, "--rate", "50", "--requests", "5", "--warm-up", "0", "--output", "3", "--quiet"], ""),
                             (["debug", "tokenize", "--model", "fake:"], '{"text": "Hi"}\n' * 20000), (["--help"], ""),
                             (["chat", "--port", str(server.port)], "Hi\n" * 3)):
        given.write_text(typed)
        with open(given) as typing, subprocess.Popen([BINARY, *arguments], stdin=typing, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            for _ in range(lines):
                process.stdout.readline()
            process.stdout.close()
            code, said = process.wait(60), process.stderr.read().decode()
        assert code == 0, (arguments, said)
        assert "roken pipe" not in said and not said.startswith("takt:"), (arguments, said)


def test_a_step_log_without_room_for_its_first_line_is_one_clear_line(tmp_path):
    log = tmp_path / "steps.jsonl"
    line = one_line_of_error(run("serve", "--port", "0", "--model", "fake:", "--step-log", str(log), preexec_fn=limit_files(10)), 5)
    assert "File too large" in line and str(log) in line


def test_a_disk_that_fills_up_under_the_step_log_is_logged_and_changes_no_answer(start, tmp_path):
    server = start("--step-log", str(tmp_path / "steps.jsonl"), model="fake:text=Hello there.", preexec_fn=limit_files(3000))
    for _ in range(8):
        status, answer = server.post("/v1/completions", {"prompt": "Hi"})
        assert status == 200 and answer["choices"][0]["text"] == "Hello there."
    wait_until(lambda: any("File too large" in line for line in list(server.lines)), "the line about the disk")
    assert server.post("/v1/completions", {"prompt": "Hi"})[0] == 200
    assert len([line for line in server.lines if "File too large" in line]) == 1
    server.signal()
    assert server.wait() == 0


@pytest.mark.parametrize("host, said", [("203.0.113.1", "203.0.113.1"), ("no-such-host.invalid", "no-such-host.invalid"), ("999.1.1.1", "999.1.1.1")])
def test_an_address_that_is_not_here_is_one_clear_line(host, said):
    assert said in one_line_of_error(run("serve", "--port", "0", "--no-auth", "--model", "fake:", "--host", host), 4)


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
    assert "general.architecture" in text.stdout and f"\nCan be served: no: {NOT_FINITE}\n" in text.stdout
    assert json.loads(run("inspect", "--json", not_finite).stdout)["unsupported"] == NOT_FINITE
    quick = run("inspect", "--metadata-only", not_finite)
    assert quick.returncode == 0 and "not finite" not in quick.stdout
    assert "\nCan be served: yes, if its weights are sound (they were not read)\n" in quick.stdout

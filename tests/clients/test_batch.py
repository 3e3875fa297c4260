"""`takt batch`: files of requests in, files of answers out."""
import json
import pathlib
import signal
import subprocess

import pytest
from takt_process import BINARY, PATIENCE_SECONDS, run, wait_until

TINY = str(pathlib.Path(__file__).resolve().parents[1] / "data" / "tiny.gguf")
FAKE = "fake:length=8,step_ms=1"


def request(name, body=None, **more):
    body = body or {"messages": [{"role": "user", "content": f"Say {name}"}], "max_tokens": 4}
    return {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body, **more}


def completion(name, prompt, tokens):
    body = {"prompt": prompt, "max_tokens": tokens, "ignore_eos": True, "temperature": 0}
    return request(name, body, url="/v1/completions")


@pytest.fixture
def file_of(tmp_path):
    def write(*lines):
        path = tmp_path / "requests.jsonl"
        path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
        return str(path)

    return write


def batch(*arguments, model=FAKE, **options):
    return run("batch", *arguments, "--model", model, **options)


def answers(text):
    return {answer["custom_id"]: answer for answer in map(json.loads, text.splitlines())}


def test_every_line_gets_its_answer(file_of):
    lines = [request(f"r{i}") for i in range(300)]  # more than are in flight at once
    result = batch(file_of(*lines, ""))
    assert result.returncode == 0, result.stderr
    got = answers(result.stdout)
    assert sorted(got) == sorted(line["custom_id"] for line in lines)
    for answer in got.values():
        assert set(answer) == {"id", "custom_id", "response", "error"} and answer["error"] is None
        assert answer["response"]["status_code"] == 200 and answer["response"]["request_id"]
        assert answer["response"]["body"]["usage"]["completion_tokens"] == 4
    assert "300 answered, 0 of them with an error" in result.stderr


def test_the_server_s_refusal_is_a_line_s_answer(file_of):
    bad = {"messages": [{"role": "user", "content": "x"}], "temperature": 99}
    result = batch(file_of(request("good"), request("bad", bad), request("elsewhere", {"model": "none", "messages": [{"role": "user", "content": "x"}]})))
    assert result.returncode == 0, result.stderr
    got = {name: answer["response"] for name, answer in answers(result.stdout).items()}
    assert {name: response["status_code"] for name, response in got.items()} == {"good": 200, "bad": 400, "elsewhere": 404}
    assert got["bad"]["body"]["error"]["param"] == "temperature"
    assert "2 of them with an error" in result.stderr


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 2 is not valid JSON"),
        ("[]", "line 2 must be a JSON object"),
        (json.dumps({"method": "POST"}), "line 2 needs 'custom_id'"),
        (json.dumps(request("")), "line 2 'custom_id' must have 1 to 512 bytes"),
        (json.dumps(request("y" * 513)), "line 2 'custom_id' must have 1 to 512 bytes"),
        (json.dumps(request("y", method="GET")), "line 2 'method' must be POST"),
        (json.dumps(request("y", url="/v1/embeddings")), "line 2 'url' must be"),
        (json.dumps({"custom_id": "y", "method": "POST", "url": "/v1/completions", "body": 7}), "line 2 needs 'body'"),
        (json.dumps(request("y", {"stream": True})), "line 2 'body.stream' must not be true"),
        (json.dumps(request("x")), "line 2 has the 'custom_id' of line 1"),
        ("[" * 1000, "line 2 is not valid JSON"),
    ],
)
def test_a_file_with_a_fault_is_refused_whole(file_of, line, words):
    result = batch(file_of(request("x"), line))
    assert result.returncode == 2 and result.stdout == ""
    assert words in result.stderr


def test_files_that_cannot_be_used_are_named(file_of, tmp_path):
    missing = batch(str(tmp_path / "none.jsonl"))
    assert missing.returncode == 5 and "none.jsonl" in missing.stderr
    for path, words in [(str(tmp_path), "is a directory"), ("/dev/zero", "not a regular file")]:
        result = batch(path)
        assert result.returncode == 5 and words in result.stderr
    nowhere = batch(file_of(request("x")), "-o", str(tmp_path / "no" / "folder"))
    assert nowhere.returncode == 5 and "no/folder" in nowhere.stderr
    device = batch(file_of(request("x")), "-o", "/dev/full", "--resume")
    assert device.returncode == 5 and "not a regular file" in device.stderr
    with open("/dev/full", "w") as full:
        result = batch(file_of(request("x")), stdout=full)
    assert result.returncode == 5 and "cannot write answers" in result.stderr
    assert batch(file_of(request("x")), "--preset", "statik").returncode == 2


def test_an_output_that_is_there_is_kept_until_resume_is_asked_for(file_of, tmp_path):
    output = tmp_path / "answers.jsonl"
    lines = [request(f"r{i}") for i in range(6)]
    path = file_of(*lines)
    assert batch(path, "-o", str(output)).returncode == 0
    whole = output.read_text().splitlines(keepends=True)
    again = batch(path, "-o", str(output))
    assert again.returncode == 2 and "--resume" in again.stderr
    assert output.read_text() == "".join(whole)
    # As after a power cut: two answers, and half of a third.
    output.write_text("".join(whole[:2]) + whole[2][:40])
    resumed = batch(path, "-o", str(output), "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert "4 answered" in resumed.stderr
    text = output.read_text()
    assert text.startswith("".join(whole[:2]))
    assert sorted(answers(text)) == [f"r{i}" for i in range(6)] and len(text.splitlines()) == 6


@pytest.mark.parametrize("tail", ["secret, one line", '{"custom_id": "x"}', '{"id":1'])
def test_a_file_that_holds_something_else_is_not_touched(file_of, tmp_path, tail):
    notes = tmp_path / "notes.txt"
    notes.write_text(tail)
    result = batch(file_of(request("x")), "-o", str(notes), "--resume")
    assert result.returncode == 5 and "line 1" in result.stderr
    assert notes.read_text() == tail


def test_the_file_of_requests_is_never_the_output(file_of, tmp_path):
    path = pathlib.Path(file_of(request("x")))
    link = tmp_path / "link"
    link.symlink_to(path)
    before = path.read_text()
    result = batch(str(path), "-o", str(link), "--resume")
    assert result.returncode == 5 and "is the file of requests" in result.stderr
    assert path.read_text() == before


# Every digit counts: as a seed, these are different requests.
@pytest.mark.parametrize("seed", ["9007199254740993", "9007199254740993.0", "4611686018427387905e0", "18446744073709551615", "1e-400"])
def test_numbers_reach_the_model_as_they_were_written(file_of, start, seed):
    body = '{"prompt": "x", "max_tokens": 6, "ignore_eos": true, "temperature": 1, "seed": %s}' % seed
    line = '{"custom_id": "a", "method": "POST", "url": "/v1/completions", "note": {"body": {}}, "body": %s}' % body
    result = batch(file_of(line), model=TINY)
    assert result.returncode == 0, result.stderr
    response = answers(result.stdout)["a"]["response"]
    status, served = start(model=TINY).post("/v1/completions", body.encode())
    assert status == response["status_code"]
    text = lambda answer: answer["choices"][0]["text"] if status == 200 else answer["error"]["message"]
    assert text(response["body"]) == text(served)


def test_a_model_that_dies_ends_the_run_and_leaves_the_rest_for_resume(file_of, tmp_path):
    output = tmp_path / "answers.jsonl"
    path = file_of(*(request(f"r{i}") for i in range(400)))
    died = batch(path, "-o", str(output), model="fake:length=4,step_ms=1,fail=fatal,fail_step=20")
    assert died.returncode == 1
    kept = answers(output.read_text())
    assert len(kept) < 400 and all(answer["response"]["status_code"] != 503 for answer in kept.values())
    resumed = batch(path, "-o", str(output), "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert len(answers(output.read_text())) == 400


def test_a_byte_order_mark_is_passed_over(file_of):
    assert batch(file_of("\ufeff" + json.dumps(request("x")))).returncode == 0


def test_two_runs_do_not_write_to_one_file(file_of, tmp_path):
    output = tmp_path / "answers.jsonl"
    path = file_of(*(request(f"r{i}") for i in range(2000)))
    first = subprocess.Popen([BINARY, "batch", path, "-o", str(output), "--model", "fake:length=4,step_ms=50"], stderr=subprocess.PIPE)
    wait_until(lambda: output.exists() and output.read_text(), "an answer")
    second = batch(path, "-o", str(output), "--resume")
    assert second.returncode == 5 and "another takt batch" in second.stderr
    first.send_signal(signal.SIGINT)
    first.send_signal(signal.SIGINT)
    wait_until(lambda: first.stderr.closed or first.poll() is not None, "the first run's end")
    first.communicate(timeout=PATIENCE_SECONDS)


def test_a_signal_keeps_what_is_answered_and_resume_does_the_rest(file_of, tmp_path):
    output = tmp_path / "answers.jsonl"
    lines = [request(f"r{i}") for i in range(60)]
    command = [BINARY, "batch", file_of(*lines), "-o", str(output), "--model", "fake:length=4,step_ms=20", "--in-flight", "2"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: output.exists() and output.read_text().count("\n") >= 3, "three answers")
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 1 and "--resume" in said
    first = answers(output.read_text())
    assert 3 <= len(first) < 60
    assert all(answer["response"]["status_code"] == 200 for answer in first.values())
    assert batch(command[2], "-o", str(output), "--resume").returncode == 0
    assert sorted(answers(output.read_text())) == sorted(line["custom_id"] for line in lines)


def test_every_preset_gives_the_same_answers(file_of):
    path = file_of(*(completion(f"r{i}", "word " * (1 + 7 * i % 30), 1 + i * 5 % 23) for i in range(12)))
    texts = {}
    for preset in ["static", "static-tight", "request-level", "orca", "continuous-chunked", "throughput"]:
        result = batch(path, "--preset", preset, model=TINY)
        assert result.returncode == 0, result.stderr
        got = {name: answer["response"]["body"]["choices"][0]["text"] for name, answer in answers(result.stdout).items()}
        assert len(got) == 12
        texts[preset] = got
    assert all(got == texts["static"] for got in texts.values())

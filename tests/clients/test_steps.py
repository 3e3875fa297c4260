"""`takt steps`: what a step log shows, draws and proves."""
import json
import os
import threading
import xml.etree.ElementTree

import pytest
from takt_process import run, wait_until

COLUMNS = "step length ms predicted budget prefill rows running waiting free blocks dropped waits for"


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A run in which prompts come beside streams, blocks are short, and some clients leave."""
    from takt_process import TaktServer
    path = tmp_path_factory.mktemp("steps") / "steps.jsonl"
    with TaktServer("--step-log", str(path), "--max-sequences", "5", "--set", "server.step_log_bytes=1048576",
                    model="fake:length=40,step_us=500,token_us=100,blocks=80") as server:
        def ask(number):
            words = 60 if number % 4 == 0 else 2
            server.post("/v1/completions", {"prompt": f"number {number} " * words, "max_tokens": 30, "n": 1 + number % 2},
                        {"x-takt-class": "background" if number % 3 == 0 else "chat"})
        askers = [threading.Thread(target=ask, args=(number,)) for number in range(24)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()
        server.signal()
        assert server.wait() == 0
    return path


def test_the_table_has_a_line_per_step(log):
    told = run("steps", str(log))
    assert told.returncode == 0, told.stderr
    lines = told.stdout.splitlines()
    assert " ".join(lines[0].split()) == COLUMNS
    steps = [int(line.split()[0]) for line in lines[1:]]
    assert steps == sorted(set(steps)) and len(steps) > 30
    some = run("steps", str(log), "--from", str(steps[5]), "--to", str(steps[9])).stdout.splitlines()
    assert some == lines[:1] + lines[6:11]


def test_the_picture_is_a_drawing_that_suits_light_and_dark(log, tmp_path):
    svg, page = tmp_path / "steps.svg", tmp_path / "steps.html"
    told = run("steps", str(log), "--svg", str(svg), "--html", str(page))
    assert told.returncode == 0, told.stderr
    root = xml.etree.ElementTree.parse(svg).getroot()
    assert root.tag.endswith("svg")
    kinds = {element.get("class") for element in root.iter() if element.tag.endswith("rect")}
    assert {"prefill", "decode", "waiting"} <= kinds
    text = svg.read_text()
    assert "prefers-color-scheme: dark" in text and "waiting for its first seat" in text
    assert "<svg" in page.read_text() and "<pre>" in page.read_text()


def test_the_trace_is_one_that_viewers_read(log, tmp_path):
    trace = tmp_path / "trace.json"
    assert run("steps", str(log), "--perfetto", str(trace)).returncode == 0
    events = json.loads(trace.read_text())["traceEvents"]
    names = {event["name"] for event in events}
    assert {"prefill", "decode", "waiting", "sequences", "free blocks"} <= names
    for event in events:
        assert event["ph"] in "XCM" and ("ts" in event) == (event["ph"] != "M")
        assert event["ph"] != "X" or event["dur"] >= 0


def test_a_replay_plans_the_same_steps(log):
    told = run("steps", str(log), "--replay")
    assert told.returncode == 0, told.stderr
    assert "came out the same" in told.stdout


def test_a_replay_of_a_log_that_was_changed_names_the_step(log, tmp_path):
    changed = tmp_path / "changed.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    plans = [i for i, line in enumerate(lines) if line.startswith('{"p":')]
    at = plans[len(plans) // 2]
    record = json.loads(lines[at])
    record["p"][1] += 1
    lines[at] = json.dumps(record, separators=(",", ":")) + "\n"
    changed.write_text("".join(lines))
    told = run("steps", str(changed), "--replay")
    assert told.returncode == 1
    assert "step " in told.stderr and "predicted nanoseconds" in told.stderr and told.stderr.count("\n") == 1


def test_what_cannot_be_read_is_one_clear_line(log, tmp_path):
    missing, text = tmp_path / "missing", tmp_path / "text"
    text.write_text("hello\n")
    head = log.read_text().splitlines(keepends=True)[0]
    broken = tmp_path / "broken"
    broken.write_text(head + '{"p":[1]}\n{"c":[1,1]}\n')
    for path, code, said in ((missing, 5, "No such file"), (text, 1, "no step log"), (broken, 1, "broken:2")):
        for arguments in ([], ["--replay"]):
            told = run("steps", str(path), *arguments)
            assert told.returncode == code and said in told.stderr and told.stderr.count("\n") == 1, told
    assert run("steps", str(log), "--svg", "/nonexistent/x.svg").returncode == 5
    assert run("steps", str(log), "--replay", "--svg", "x.svg").returncode == 2
    assert run("steps", str(log), "--svg", str(tmp_path / "x"), "--from", "999999").returncode == 2


def test_every_output_that_is_asked_for_is_written(log, tmp_path):
    outputs = {form: tmp_path / name for form, name in (("--svg", "a.svg"), ("--html", "b.html"), ("--perfetto", "c.json"))}
    arguments = [part for form, path in outputs.items() for part in (form, str(path))]
    told = run("steps", str(log), *arguments)
    assert told.returncode == 0 and told.stdout == "", told
    for path in outputs.values():
        assert path.stat().st_size > 200, path


def test_ranges_that_hold_nothing_or_are_not_used_are_refused(log):
    backwards = run("steps", str(log), "--from", "9", "--to", "5")
    assert backwards.returncode == 2 and "--from 9 is after --to 5" in backwards.stderr
    for bound in ("--from", "--to"):
        replay = run("steps", str(log), "--replay", bound, "5")
        assert replay.returncode == 2 and bound in replay.stderr, "a replay runs from the start"


def test_only_regular_files_are_read(tmp_path):
    for path in ("/dev/zero", str(tmp_path)):
        for arguments in ([], ["--replay"]):
            told = run("steps", path, *arguments)
            assert told.returncode == 5 and "is not a regular file" in told.stderr, told


def test_a_picture_goes_to_standard_output_where_that_is_asked_for_and_a_trace_to_a_file(log, tmp_path):
    drawn = run("steps", str(log), "--svg", "-", cwd=tmp_path)
    assert drawn.returncode == 0 and drawn.stdout.startswith("<svg")
    refused = run("steps", str(log), "--perfetto", "-", cwd=tmp_path)
    assert refused.returncode == 2 and "--perfetto cannot be '-'" in refused.stderr
    assert not list(tmp_path.iterdir())
    for limit in ("--from", "--to"):
        refused = run("steps", str(log), limit, "0")
        assert refused.returncode == 2 and limit in refused.stderr and len(refused.stderr) < 200


def test_a_pipe_that_nobody_empties_changes_no_answer(start, connect, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    told = run("serve", "--port", "0", "--model", "fake:", "--step-log", str(pipe))
    assert told.returncode == 5 and "nobody reads it" in told.stderr
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    server = start("--step-log", str(pipe), model="fake:text=Hello there.,length=400")
    client = connect(server)
    for _ in range(200):
        assert client.completions.create(model="fake", prompt="x").choices[0].text == "Hello there."
    os.close(reader)
    for _ in range(3):
        assert client.completions.create(model="fake", prompt="x").choices[0].text == "Hello there."
    server.signal()
    assert server.wait() == 0


def test_old_files_go_and_the_rest_can_be_read(start, connect, tmp_path):
    path = tmp_path / "steps.jsonl"
    server = start("--step-log", str(path), "--set", "server.step_log_bytes=1048576", "--set", "server.step_log_files=2",
                   model="fake:length=4000,step_us=1,context=8192,blocks=2000")
    client = connect(server)
    aside = path.with_name("steps.jsonl.1")

    def parts_put_aside():
        return json.loads(aside.open().readline())["part"] + 1 if aside.exists() else 0

    # As long as the machine needs: each round writes some hundred kilobytes, and how quickly is no matter here.
    for _ in range(40):
        if parts_put_aside() >= 2:
            break
        client.completions.create(model="fake", prompt="x", max_tokens=4000, n=4)
    wait_until(lambda: parts_put_aside() >= 2, "a second file to be put aside, in the place of the first")
    server.signal()
    assert server.wait() == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["steps.jsonl", "steps.jsonl.1"]
    assert run("steps", str(path)).returncode == 0


def test_a_file_that_is_no_step_log_is_not_moved_away(tmp_path):
    important = tmp_path / "important"
    important.write_text("do not lose me")
    result = run("serve", "--port", "0", "--model", "fake:", "--step-log", str(important))
    assert result.returncode == 5 and "is no step log" in result.stderr
    assert important.read_text() == "do not lose me" and [path.name for path in tmp_path.iterdir()] == ["important"]


def test_two_servers_do_not_write_to_one_step_log(start, tmp_path):
    path = tmp_path / "steps.jsonl"
    start("--step-log", str(path))
    second = run("serve", "--port", "0", "--model", "fake:", "--step-log", str(path))
    assert second.returncode == 5 and "another process writes to it" in second.stderr
    assert [found.name for found in tmp_path.iterdir()] == ["steps.jsonl"]


@pytest.mark.parametrize("form", ["--svg", "--html", "--perfetto"])
def test_the_log_is_never_the_output(log, form):
    before = open(log).read()
    result = run("steps", str(log), form, str(log))
    assert result.returncode == 2 and "would write over the input" in result.stderr
    assert open(log).read() == before


def test_one_file_is_not_two_outputs(log, tmp_path):
    twice = run("steps", str(log), "--svg", str(tmp_path / "q"), "--html", f"{tmp_path}/../{tmp_path.name}/q")
    assert twice.returncode == 2 and "--html would write over --svg" in twice.stderr
    assert not (tmp_path / "q").exists()

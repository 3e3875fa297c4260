"""What really happened, kept: `takt serve --capture` and `takt trace`."""
import contextlib
import json
import os
import pathlib
import resource
import signal
import stat
import subprocess
import threading

import openai
import pytest
from scrape import scrape
from takt_process import BINARY, run, wait_until

TRACES = pathlib.Path(os.environ.get("TAKT_TRACES_DIR", pathlib.Path(__file__).resolve().parents[3] / "shared" / "traces"))


def lines_of(folder):
    """The requests in a folder of segments, as they are."""
    lines = []
    for path in sorted(pathlib.Path(folder).glob("capture-*.jsonl")):
        lines += [json.loads(line) for line in path.read_text().splitlines()[1:]]
    return lines


def ended(server):
    """What the server says of requests that are over, once nobody is left."""
    def settled():
        metrics = scrape(server)
        alive = metrics.total("takt_requests_running") + metrics.total("takt_requests_waiting")
        kept = metrics.total("takt_capture_requests_total") + metrics.total("takt_capture_lost_requests_total")
        return metrics if alive == 0 and kept == metrics.total("takt_requests_ended_total") else None
    return wait_until(settled, "all requests to end and to be written down")


def test_every_request_is_kept_whatever_became_of_it_and_never_its_text(start, connect, tmp_path):
    folder = tmp_path / "capture"
    server = start("--capture", str(folder), model="fake:length=40,step_ms=5,blocks=256")
    client = connect(server)
    for turn in range(2):
        client.chat.completions.create(model="fake", messages=[{"role": "user", "content": "the secret word is xylophone"}],
                                       temperature=0, user="anna",
                                       extra_headers={"x-takt-session": "s1", "x-takt-task": "rag"})
    stream = client.completions.create(model="fake", prompt="goes away", stream=True, max_tokens=30)
    next(stream)
    stream.close()
    with pytest.raises(openai.BadRequestError):
        client.completions.create(model="fake", prompt="x" * 50000)
    with pytest.raises(openai.NotFoundError):
        client.completions.create(model="absent", prompt="x")
    metrics = ended(server)
    metrics.check_identities()
    records = lines_of(folder)
    by_outcome = {name: [r for r in records if r["outcome"] == name] for name in ("finished", "cancelled", "refused", "failed")}
    for outcome, kept in by_outcome.items():
        assert len(kept) == metrics.total("takt_requests_ended_total", outcome=outcome), outcome
    assert sum(r["prompt_tokens"] for r in by_outcome["finished"] + by_outcome["cancelled"]) == metrics.total("takt_prompt_tokens_total")
    assert sum(r["output_tokens"] for r in records) == metrics.total("takt_generated_tokens_total")
    assert sum(r["cached_tokens"] or 0 for r in records) == metrics.total("takt_cached_prompt_tokens_total")
    first, second = by_outcome["finished"]
    assert (first["turn"], second["turn"], second["parent"]) == (0, 1, first["id"])
    assert second["think_time_ns"] >= 0 and first["think_time_ns"] is None
    assert first["task"] == "rag" and first["sampling"] == "greedy" and first["stream"] is False
    assert first["block_hashes"] == second["block_hashes"] != ""
    assert first["chunks"] == second["chunks"] == 1
    cancelled = by_outcome["cancelled"][0]
    assert cancelled["cancelled_ns"] > 0 and cancelled["stream"] is True and cancelled["max_tokens"] == 30
    assert {r["error"] for r in by_outcome["refused"]} == {"context_length_exceeded", "not_found"}
    text = "".join(path.read_text() for path in folder.iterdir())
    assert "xylophone" not in text and "anna" not in text and "s1" not in text
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_a_prompt_in_chunks_is_kept_with_their_number(start, connect, tmp_path):
    folder = tmp_path / "capture"
    server = start("--capture", str(folder), "--set", "scheduler.max_step_tokens=64", "--max-sequences", "8")
    connect(server).completions.create(model="fake", prompt="x" * 200, max_tokens=3)
    ended(server)
    assert lines_of(folder)[0]["prompt_tokens"] >= 200
    assert lines_of(folder)[0]["chunks"] == -(-lines_of(folder)[0]["prompt_tokens"] // 64)


def test_a_kill_loses_nothing_that_was_written_down(start, connect, tmp_path):
    folder = tmp_path / "capture"
    server = start("--capture", str(folder))
    client = connect(server)
    for seed in range(5):
        client.completions.create(model="fake", prompt="hello", seed=seed)
    ended(server)
    server.signal(signal.SIGKILL)
    server.wait()
    info = run("trace", "info", str(folder))
    assert info.returncode == 0, info.stderr
    assert "requests 5 of 5 rows" in info.stdout
    with start("--capture", str(folder)) as again:
        connect(again).completions.create(model="fake", prompt="hello")
        ended(again)
    assert "requests 6 of 6 rows" in run("trace", "info", str(folder)).stdout


def test_a_stop_writes_down_what_is_over(start, connect, tmp_path):
    folder = tmp_path / "capture"
    server = start("--capture", str(folder))
    connect(server).completions.create(model="fake", prompt="hello")
    server.signal()
    assert server.wait() == 0
    assert [r["outcome"] for r in lines_of(folder)] == ["finished"]


def test_text_is_kept_only_where_that_is_asked_for(start, connect, tmp_path):
    folder = tmp_path / "capture"
    server = start("--capture", str(folder), "--capture-text")
    answer = connect(server).completions.create(model="fake", prompt="hello there")
    ended(server)
    record = lines_of(folder)[0]
    assert record["prompt_text"] == "hello there"
    assert record["answer_text"] == answer.choices[0].text


# G5: a session's turns hold all that was said before; what is replayed has the lengths that were captured.
def test_a_capture_replayed_and_captured_again_has_the_same_lengths_and_instants(start, connect, tmp_path):
    first = start("--capture", str(tmp_path / "first"))
    client = connect(first)
    labels = {"x-takt-app": "household", "x-takt-session": "s"}
    said = [{"role": "system", "content": "You are brief."}]
    for turn in range(3):
        said.append({"role": "user", "content": f"Question number {turn}, and a few words more."})
        answer = client.chat.completions.create(model="fake", messages=said, max_tokens=5 + turn, seed=turn, extra_headers=labels)
        said.append({"role": "assistant", "content": answer.choices[0].message.content})
    for seed in range(4):
        client.completions.create(model="fake", prompt="alone " * (20 + seed), max_tokens=3 + seed, seed=seed,
                                  extra_headers={"x-takt-app": "household"})
    ended(first)
    first.signal()
    assert first.wait() == 0
    captured = lines_of(tmp_path / "first")
    assert [record["prompt_tokens"] for record in captured[:3]] == sorted(record["prompt_tokens"] for record in captured[:3])

    second = start("--capture", str(tmp_path / "second"))
    replayed = run("replay", str(tmp_path / "first"), second.url, "--quiet", "--json", "-", timeout=120)
    assert replayed.returncode == 0, replayed.stderr
    ended(second)
    again = [record for record in lines_of(tmp_path / "second") if record["application"] == "household"]  # without the probes
    assert len(again) == len(captured) == 7
    by_arrival = [sorted(records, key=lambda record: record["arrival_ns"]) for records in (captured, again)]
    for name in ("prompt_tokens", "output_tokens", "max_tokens", "outcome"):
        assert [record[name] for record in by_arrival[0]] == [record[name] for record in by_arrival[1]], name
    for before, after in zip(*by_arrival):
        since = [record["arrival_ns"] - records[0]["arrival_ns"] for record, records in ((before, by_arrival[0]), (after, by_arrival[1]))]
        assert abs(since[0] - since[1]) < 1e9


def test_a_disk_that_takes_nothing_costs_no_answer(start, connect, tmp_path):
    folder = tmp_path / "capture"
    server = start("--capture", str(folder))
    client = connect(server)
    folder.rename(tmp_path / "away")
    for seed in range(3):
        client.completions.create(model="fake", prompt="hello", seed=seed)
    metrics = ended(server)
    assert metrics.total("takt_capture_lost_requests_total", reason="disk") == 3
    assert sum("and not written down" in line for line in server.lines) == 1
    (tmp_path / "away").rename(folder)
    client.completions.create(model="fake", prompt="hello")
    assert ended(server).total("takt_capture_requests_total") == 1


# A file that may not grow stands for a full disk where nothing can be mounted: the write itself fails.
def test_a_disk_that_fills_up_costs_records_and_no_answer_until_there_is_room_again(start, connect, tmp_path):
    folder = tmp_path / "capture"
    server = start("--capture", str(folder), model="fake:text=Hello there.")
    client = connect(server)

    def ask(seed):
        answer = client.completions.create(model="fake", prompt="hello", seed=seed)
        assert answer.choices[0].text == "Hello there."

    ask(0)
    ended(server)
    segment = next(folder.glob("capture-*.jsonl"))
    _, most = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (segment.stat().st_size + 50, most))
    for seed in range(1, 5):
        ask(seed)
        metrics = ended(server)
    assert metrics.total("takt_capture_lost_requests_total", reason="disk") == 4
    assert sum("File too large" in line and "not written down" in line for line in server.lines) == 1
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, most))
    for seed in range(5, 8):
        ask(seed)
    metrics = ended(server)
    assert metrics.total("takt_capture_requests_total") == 4
    assert metrics.total("takt_capture_lost_requests_total", reason="disk") == 4
    assert any("written down again" in line for line in server.lines)
    assert len(lines_of(folder)) == 4  # and every line is whole


def test_a_folder_that_cannot_be_used_ends_the_start_with_its_reason(start, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    ended_start = run("serve", "--model", "fake:", "--port", "0", "--capture", str(file))
    assert ended_start.returncode == 5 and str(file) in ended_start.stderr
    folder = tmp_path / "capture"
    with start("--capture", str(folder)):
        second = run("serve", "--model", "fake:", "--port", "0", "--capture", str(folder))
        assert second.returncode == 5 and "another process captures into this folder" in second.stderr


def test_requests_at_once_are_all_kept(start, connect, tmp_path):
    folder = tmp_path / "capture"
    server = start("--capture", str(folder))
    client = connect(server)

    def ask(number):
        for seed in range(10):
            client.completions.create(model="fake", prompt=f"number {number}", seed=seed)
    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ended(server)
    assert len(lines_of(folder)) == 80
    assert len({r["id"] for r in lines_of(folder)}) == 80


# --- takt trace ------------------------------------------------------------------------------------------------------

TABLE = "arrival_s,application,tier,input_tokens,output_tokens\n" + "".join(
    f"{i},{'chat' if i % 2 else 'night'},{'realtime' if i % 2 else 'batch'},{100 + i},{10 + i}\n" for i in range(20))


def made(*arguments):
    """The output of a `takt trace` that works."""
    result = run("trace", *map(str, arguments))
    assert result.returncode == 0, result.stderr
    return result.stdout


def rows(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()[1:]]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(TABLE)
    return path


def test_cut_keeps_a_part_and_counts_from_its_beginning(table, tmp_path):
    made("cut", table, "-o", tmp_path / "a", "--from", 5, "--to", 8)
    assert [(r["arrival_ns"], r["prompt_tokens"]) for r in rows(tmp_path / "a")] == [(0, 105), (10**9, 106), (2 * 10**9, 107)]
    made("cut", table, "-o", tmp_path / "b", "--class", "batch", "--first", 3)
    assert [r["prompt_tokens"] for r in rows(tmp_path / "b")] == [100, 102, 104]
    made("cut", table, "-o", tmp_path / "c", "--application", "chat")
    assert len(rows(tmp_path / "c")) == 10


def test_merge_split_and_convert_lose_no_request(table, tmp_path):
    made("merge", table, table, "-o", tmp_path / "both")
    assert len(rows(tmp_path / "both")) == 40
    printed = made("split-by-class", tmp_path / "both", "-o", tmp_path / "part")
    assert "part-batch.jsonl: 20 requests" in printed
    assert len(rows(tmp_path / "part-batch.jsonl")) + len(rows(tmp_path / "part-realtime.jsonl")) == 40
    for word in ("takt", "mooncake", "azure", "burstgpt", "table", "lengths"):
        assert "20 requests" in made("convert", table, "-o", tmp_path / word, "--to", word)
        assert "requests 20 of 20 rows" in made("info", tmp_path / word)


def test_anonymise_leaves_no_name(table, tmp_path):
    made("anonymise", table, "-o", tmp_path / "anonymous")
    text = (tmp_path / "anonymous").read_text()
    assert "chat" not in text and "night" not in text
    assert [r["prompt_tokens"] for r in rows(tmp_path / "anonymous")] == list(range(100, 120))


def test_nothing_is_overwritten(table, tmp_path):
    for arguments in (("cut",), ("merge", str(table)), ("anonymise",), ("convert", "--to", "azure")):
        result = run("trace", *arguments, str(table), "-o", str(table))
        assert result.returncode == 2 and "would write over the input" in result.stderr, arguments
        assert table.read_text() == TABLE
    (tmp_path / "there").write_text("mine")
    result = run("trace", "cut", str(table), "-o", str(tmp_path / "there"))
    assert result.returncode == 2 and "is there already" in result.stderr
    assert (tmp_path / "there").read_text() == "mine"


def test_a_part_without_a_length_is_refused_by_name(table, tmp_path):
    for limits in (("--from", "nan"), ("--to", "nan"), ("--to", "inf"), ("--from", "-1"), ("--from", "8", "--to", "5"),
                   ("--from", "5", "--to", "5"), ("--to", "0")):
        result = run("trace", "cut", str(table), "-o", str(tmp_path / "part"), *limits)
        assert result.returncode == 2 and limits[-2] in result.stderr, result.stderr
        assert not (tmp_path / "part").exists()


def test_a_malformed_line_is_named_and_can_be_skipped(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("arrival_s,input_tokens,output_tokens\n1,2,3\n1,x,3\n2,2,3")
    refused = run("trace", "info", str(path))
    assert refused.returncode == 2 and f"{path}:3: input_tokens" in refused.stderr
    skipped = made("info", "--skip-malformed", path)
    assert "requests 2 of 3 rows" in skipped and f"1 malformed, the first: {path}:3" in skipped


def test_a_part_that_nobody_is_in_is_no_file(table, tmp_path):
    for part in (("--class", "nope"), ("--application", "nope"), ("--from", "1000")):
        result = run("trace", "cut", str(table), "-o", str(tmp_path / "part"), *part)
        assert result.returncode == 2 and f"{table}: 0 of 20 requests are kept" in result.stderr, result.stderr
        assert not (tmp_path / "part").exists() and not (tmp_path / "part.partial").exists()


HEADS = {"table": "arrival_s,input_tokens,output_tokens\n", "azure": "TIMESTAMP,ContextTokens,GeneratedTokens\n",
         "burstgpt": "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS.keys())
def test_a_trace_without_a_request_is_an_error_in_every_tool(head, tmp_path):
    path = tmp_path / "t.csv"
    for rows, flags in (("", ()), ("x,x,x\n1\n", ()), ("x,x,x\n1\n", ("--skip-malformed",))):
        path.write_text(head + rows)
        for tool in (("info",), ("cut", "-o", "part"), ("convert", "-o", "part"), ("anonymise", "-o", "part"),
                     ("merge", "-o", "part"), ("split-by-class", "-o", "part")):
            result = run("trace", *tool, str(path), *flags, cwd=tmp_path)
            assert result.returncode == 2 and str(path) in result.stderr and not result.stdout, (tool, rows, flags)
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_what_has_no_end_ends_with_a_reason(tmp_path, table):
    for arguments in (("trace", "info", "/dev/zero"), ("trace", "anonymise", "/dev/zero", "-o", str(tmp_path / "x")),
                      ("trace", "merge", str(table), "/dev/zero", "-o", str(tmp_path / "x")),
                      ("replay", "/dev/zero", "http://127.0.0.1:9"), ("trace", "info", "--skip-malformed", "/dev/zero")):
        result = run(*arguments)
        assert result.returncode == 5 and "/dev/zero is a device" in result.stderr, (arguments, result.stderr)
    for lengths in (("--lengths", "/dev/zero"), ("--class", "rate=1 lengths=/dev/zero")):
        result = run("bench", "http://127.0.0.1:9", *lengths)
        assert result.returncode == 5 and "/dev/zero is a device" in result.stderr
    # A line that nobody ends, from a pipe.
    with subprocess.Popen([BINARY, "trace", "info", "/dev/stdin"], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as info:
        with contextlib.suppress(BrokenPipeError):
            info.stdin.write(b"7" * (17 << 20))
            info.stdin.flush()
        assert info.wait(60) == 2 and b"/dev/stdin:1: has more than 16777216 bytes" in info.stderr.read()
        with contextlib.suppress(BrokenPipeError):
            info.stdin.close()


def test_a_pipe_is_read_as_a_file_is(table):
    with open(table) as rows_of_table:
        piped = subprocess.run(["cat"], stdin=rows_of_table, stdout=subprocess.PIPE, check=True).stdout.decode()
    result = run("trace", "info", "/dev/stdin", stdin=piped)
    assert result.returncode == 0 and "requests 20 of 20 rows" in result.stdout


def test_a_conversion_says_what_the_format_needs_and_the_trace_has_not(table, tmp_path):
    plain = tmp_path / "plain.csv"
    plain.write_text("arrival_s,input_tokens,output_tokens\n0,1,2\n")
    assert "its instants stand behind 1970-01-01 00:00:00" in made("convert", plain, "-o", tmp_path / "a", "--to", "azure")
    made("convert", plain, "-o", tmp_path / "b", "--to", "table")
    assert (tmp_path / "b").read_text().splitlines()[1] == "0.000000,,,,,,,,,,1,2"
    dated = tmp_path / "dated.csv"
    dated.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n")
    assert "1970" not in made("convert", dated, "-o", tmp_path / "c", "--to", "azure")


def test_a_number_or_a_name_that_cannot_be_is_refused_in_one_short_line(table, tmp_path):
    for arguments, word in ((("--first", "0"), "--first"), (("--first", "-1"), "--first"), (("--first", "x"), "--first")):
        result = run("trace", "cut", str(table), "-o", str(tmp_path / "part"), *arguments)
        assert result.returncode == 2 and word in result.stderr and len(result.stderr) < 200, result.stderr
    for tool in (("cut",), ("merge", str(table)), ("anonymise",), ("convert",), ("split-by-class",)):
        result = run("trace", *tool, str(table), "-o", "-", cwd=tmp_path)
        assert result.returncode == 2 and "--output cannot be '-'" in result.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]


def test_what_is_no_trace_is_refused_with_a_reason(tmp_path):
    path = tmp_path / "t"
    for content in ("", "plain words", "{}", "[1, 2]", "\0\0\0\0"):
        path.write_text(content)
        result = run("trace", "info", str(path))
        assert result.returncode == 2 and str(path) in result.stderr, content
    assert run("trace", "info", str(tmp_path / "absent")).returncode == 5


@pytest.mark.parametrize("name", sorted(p.name for p in TRACES.glob("*.*") if p.suffix in (".csv", ".jsonl")) if TRACES.exists() else [])
def test_public_traces_are_read(name):
    assert made("info", TRACES / name).startswith(str(TRACES / name))

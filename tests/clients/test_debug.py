"""`takt debug`: one JSON line out per line in."""
import json

from takt_process import run


def lines(*arguments, given):
    result = run("debug", *arguments, stdin="".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in given))
    assert result.returncode == 0, result.stderr
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(answers) == len(given)
    return answers


def test_tokenize_gives_ids_or_an_error_per_line():
    good, control, bad, wrong = lines("tokenize", "--model", "fake:", given=[
        {"text": "Hi"}, {"text": "<|im_start|>", "parse_special": True}, "{", {"text": 5}])
    assert good == {"ids": [72, 105]}
    assert len(control["ids"]) == 1
    assert "error" in bad and "error" in wrong


def test_tokenize_takes_model_files(tiny_model):
    (answer,) = lines("tokenize", "--model", tiny_model, given=[{"text": "Hello"}])
    assert answer["ids"]


def test_render_takes_a_template_file_or_a_models_own(tmp_path):
    template = tmp_path / "t.jinja"
    template.write_text("{% for m in messages %}{{ m.role }}: {{ m.content }};{% endfor %}")
    messages = [{"role": "user", "content": "Hi"}]
    (answer,) = lines("render", "--template", str(template), given=[{"messages": messages}])
    assert answer["output"] == "user: Hi;"
    (own,) = lines("render", "--model", "fake:", given=[{"messages": messages, "options": {"add_generation_prompt": True}}])
    assert "<|im_start|>user\nHi" in own["output"]
    assert run("debug", "render").returncode == 2


def test_logprobs_give_greedy_ids_and_positions(tiny_model):
    good, bad = lines("logprobs", "--model", tiny_model, "--kv-type", "f32", given=[
        {"prompt_ids": [1, 2, 3, 4], "generate": 3, "top": 5, "ids_at": [{"pos": 2, "ids": [0, 1]}]}, {"prompt_ids": "x"}])
    assert len(good["greedy_ids"]) == 3
    assert "error" in bad
    positions = {position["pos"]: position for position in good["positions"]}
    assert positions[3]["argmax"] == good["greedy_ids"][0]
    for position in positions.values():
        assert len(position["top_ids"]) == len(position["top_logprobs"]) == 5
        assert position["argmax"] == position["top_ids"][0]
    assert positions[2]["ids"] == [0, 1] and len(positions[2]["logprobs"]) == 2


def test_inspect_shows_what_a_file_holds_and_costs(tiny_model):
    text = run("inspect", tiny_model)
    assert text.returncode == 0, text.stderr
    for word in ("general.architecture", "weights", "KV", "conversations"):
        assert word in text.stdout
    # What it is and the verdict come first, the long lists last.
    assert text.stdout.splitlines()[2] == "Can be served: yes"
    assert "blk.0.attn_q.weight" not in text.stdout and "blk.0.attn_q.weight" in run("inspect", tiny_model, "--tensors").stdout
    shown = json.loads(run("inspect", tiny_model, "--json").stdout)
    assert shown["metadata"]["general.architecture"] == "llama"
    assert shown["cost"]["kv_blocks"] > 0 and shown["tensors"] and shown["can_be_served"] is True
    by_type = shown["cost"]["kv_types"]
    assert by_type["f16"]["kv_blocks"] == shown["cost"]["kv_blocks"]
    assert by_type["q8_0"]["kv_block_bytes"] < by_type["f16"]["kv_block_bytes"] < by_type["f32"]["kv_block_bytes"]
    in_file = json.loads(run("inspect", tiny_model, "--json", "--no-repack").stdout)["cost"]
    assert in_file["weight_bytes"] < shown["cost"]["weight_bytes"] / 50


def test_lines_that_are_no_objects_are_answered_by_errors_and_the_next_one_as_ever(tiny_model, tmp_path):
    template = tmp_path / "t.jinja"
    template.write_text("{{ messages | length }}")
    wrong = ["[]", "1", "nul", "{", '"text"', "[" * 100000, '{"a": ' + "[" * 200 + "]" * 200 + "}"]
    for arguments, good in ((["tokenize", "--model", "fake:"], {"text": "Hi"}), (["render", "--template", str(template)], {"messages": []}),
                            (["logprobs", "--model", tiny_model], {"prompt_ids": [1]})):
        *errors, last = lines(*arguments, given=[*wrong, good])
        assert all(list(answer) == ["error"] for answer in errors)
        assert "error" not in last


def test_answers_that_cannot_be_written_are_an_exit_code():
    with open("/dev/full", "w") as full:
        assert run("debug", "tokenize", "--model", "fake:", stdin='{"text": "Hi"}\n' * 10, stdout=full).returncode == 1

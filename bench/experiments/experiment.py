"""What the experiments share: a server of ours on SmolLM2, a load, a table. Standard library only.

TAKT_BINARY names the binary (build/release/takt without), TAKT_MODEL the model (smollm2). Each script runs for less than five minutes, prints
its table, and with --out DIR writes the reports of its runs there.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("TAKT_BINARY", str(ROOT / "build" / "release" / "takt"))
MODEL = os.environ.get("TAKT_MODEL", "smollm2")
READY = re.compile(r"ready: (http://\S+)")


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=pathlib.Path, help="folder for the reports of the runs (HTML and JSON)")
    parser.add_argument("--rounds", type=int, default=1, help="how often everything is run; more rounds, narrower ranges")
    return parser.parse_args()


class Server:
    """`takt serve` with options, on a free port, for the length of a `with`."""

    def __init__(self, *options, model=MODEL):
        self.command = [BINARY, "serve", "--port", "0", "--model", model, "--log-level", "warning", *options]

    def __enter__(self):
        self.log = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        for line in self.process.stdout:
            if match := READY.match(line):
                self.url = match[1]
                return self
        self.log.seek(0)
        sys.exit(f"the server did not start: {' '.join(self.command)}\n{self.log.read()}")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.log.close()


def run(out, name, *options, command="bench"):
    """The JSON report of one run of `takt bench` (or `replay`)."""
    files = []
    if out:
        out.mkdir(parents=True, exist_ok=True)
        files = ["--html", str(out / f"{name}.html")]
    result = subprocess.run([BINARY, command, *options, "--quiet", "--json", "-", *files], stdout=subprocess.PIPE, text=True)
    if not result.stdout:
        sys.exit(f"{name}: the run failed")
    report = json.loads(result.stdout)
    if out:
        (out / f"{name}.json").write_text(result.stdout)
    if not report["valid"]:
        print(f"{name}: NOT VALID: {report['faults']}", file=sys.stderr)
    return report


def trace_of_lengths(folder, name, lengths, gap_seconds=0.0):
    """A trace file of (prompt tokens, answer tokens), all at once or a gap apart."""
    path = pathlib.Path(folder) / name
    rows = [f"{i * gap_seconds:.6f},{prompt},{output}" for i, (prompt, output) in enumerate(lengths)]
    path.write_text("arrival_s,input_tokens,output_tokens\n" + "\n".join(rows) + "\n")
    return str(path)


def all_of(report):
    return report["verdict"]["all"]


def classes_of(report, *names):
    """The groups of these classes; ends where no request of one came within the window."""
    groups = {group["name"]: group for group in report["verdict"]["classes"]}
    if missing := [name for name in names if name not in groups]:
        sys.exit(f"no request of {', '.join(missing)} within the window")
    return [groups[name] for name in names]


def total_tokens_per_second(report):
    """Prompt and answer tokens over the time that the work took."""
    tokens = sum(all_of(report)[kind]["mean"] * all_of(report)[kind]["samples"] for kind in ("prompt_tokens", "output_tokens"))
    return tokens / report["verdict"]["window_seconds"]


def ms(seconds):
    return "n/a" if seconds is None else f"{seconds * 1000:.0f} ms"


def figure(distribution, quantile):
    return distribution.get(quantile) if distribution["samples"] else None


def spread(values):
    """"median (least to most)" of several rounds; one value alone without a range."""
    ordered = sorted(values)
    middle = ordered[len(ordered) // 2]
    return f"{middle:.3g}" if len(ordered) == 1 else f"{middle:.3g} ({ordered[0]:.3g} to {ordered[-1]:.3g})"


def print_table(title, columns, rows):
    print(f"\n{title}\n")
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(value) for value in row) + " |")
    print(flush=True)


def timed(work):
    began = time.monotonic()
    result = work()
    print(f"({time.monotonic() - began:.0f} s)", file=sys.stderr)
    return result

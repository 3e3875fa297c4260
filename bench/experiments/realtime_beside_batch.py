#!/usr/bin/env python3
"""Chats beside a full house of batch work, against the same chats alone and the same batch work alone.

What tiers promise: the chats' TTFT at most twice that of an idle machine, their gaps at most 1.25 times the planned step, and as many computed
tokens a second in all as nine tenths of batch work alone. Some 200 chats, so that the p90 means something.
"""
import concurrent.futures
import re
import time
import urllib.request

from experiment import Server, arguments, classes_of, figure, ms, print_table, run

CHATS = "name=chat service_class=chat rate=2 prompt=uniform:20-60 output=16"
BATCH = "name=batch service_class=background users=8 prompt=300 output=100"
PLANNED_STEP = 0.05
WARM_UP = 10
COMPUTED = re.compile(r"^takt_step_tokens_total\{[^}]*\} (\S+)$", re.MULTILINE)


def computed_tokens(url):
    with urllib.request.urlopen(f"{url}/metrics") as answer:
        return sum(float(value) for value in COMPUTED.findall(answer.read().decode()))


def measure(given, name, seconds, classes):
    """The report of a run, and the tokens a second that the server computed in the run's middle (a window of wall time: hence the sleeps)."""
    options = [part for one in classes for part in ("--class", one)] + ["--duration", str(seconds), "--warm-up", str(WARM_UP), "--drain", "1"]
    with Server() as server, concurrent.futures.ThreadPoolExecutor() as pool:
        load = pool.submit(run, given.out, name, server.url, *options)
        time.sleep(WARM_UP + 3)
        tokens, began = computed_tokens(server.url), time.monotonic()
        time.sleep(seconds - 6)
        rate = (computed_tokens(server.url) - tokens) / (time.monotonic() - began)
        return load.result(), rate


def main():
    given = arguments(__doc__)
    rows = []
    for way, seconds, classes in (("batch alone", 40, [BATCH]), ("chats alone", 105, [CHATS]), ("both", 105, [CHATS, BATCH])):
        report, rate = measure(given, way.replace(" ", "-"), seconds, classes)
        chat = classes_of(report, "chat")[0] if CHATS in classes else None
        rows.append((way, rate, chat))
    (_, batch_rate, _), (_, _, alone), (_, _, beside) = rows
    print_table("Chats and batch work", ("", "chats", "TTFT p50", "p90", "ITL p50", "p90", "computed tokens/s"),
                [(way, chat["offered"] if chat else "", *(ms(figure(chat[of], p)) if chat else "" for of in ("ttft_seconds", "itl_seconds")
                                                          for p in ("p50", "p90")), f"{rate:.0f}") for way, rate, chat in rows])
    print(f"TTFT p90 {beside['ttft_seconds']['p90'] / alone['ttft_seconds']['p90']:.2f} times that of chats alone (target 2), "
          f"ITL p90 {beside['itl_seconds']['p90'] / PLANNED_STEP:.2f} of the planned step (1.25), "
          f"computed tokens {rows[2][1] / batch_rate:.2f} of batch alone (0.9)")


main()

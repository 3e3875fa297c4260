#!/usr/bin/env python3
"""What streams feel while long prompts arrive: chunked against whole prefill.

Four people read (a closed load of short questions and long answers) while prompts of 1,500 tokens arrive every few seconds.
"""
from experiment import Server, all_of, arguments, classes_of, figure, ms, print_table, run

CHAT = "name=chat service_class=chat users=4 prompt=64 output=200"
LONG = "name=long service_class=chat arrivals=even rate=0.07 prompt=1500 output=4"


def main():
    given = arguments(__doc__)
    rows = []
    for way, options in (("chunked", []), ("whole", ["--set", "scheduler.prefill=whole"])):
        with Server(*options) as server:
            report = run(given.out, way, server.url, "--class", CHAT, "--class", LONG, "--duration", "60", "--warm-up", "5")
        chat, long = classes_of(report, "chat", "long")
        rows.append((way, ms(figure(chat["itl_seconds"], "p50")), ms(figure(chat["itl_seconds"], "p99")), ms(chat["worst_gap_seconds"]["most"]),
                     ms(long["ttft_seconds"]["mean"]), f"{report['verdict']['output_tokens_per_second']:.0f}",
                     f"{all_of(report)['answer_tokens_per_second']['mean']:.1f}"))
    print_table("Gaps of four streams while prompts of 1,500 tokens arrive",
                ("prefill", "ITL p50", "ITL p99", "longest gap", "TTFT of the long prompts (mean)", "tokens/s in total", "tokens/s of one"), rows)


main()

#!/usr/bin/env python3
"""Sequences that fit and tokens per second under the three ways to reserve KV memory: a whole context, the worst case, pages."""
from experiment import Server, all_of, arguments, figure, ms, print_table, run

MEMORY = ["--kv-blocks", "256", "--set", "compute.max_context_tokens=2048", "--set", "kv.prefix_cache=false"]  # 4,096 tokens: two whole contexts


def main():
    given = arguments(__doc__)
    rows = []
    for reserve in ("context", "worst_case", "paged"):
        with Server("--set", f"scheduler.reserve={reserve}", *MEMORY) as server:
            report = run(given.out, reserve, server.url, "--users", "24", "--prompt", "100", "--output", "uniform:20-150", "--duration", "40",
                         "--warm-up", "8")
        whole = all_of(report)
        # Little's law over the answers' time at work: from the end of the queue to the last token.
        at_work = (whole["end_to_end_seconds"]["mean"] - whole["queue_seconds"]["mean"]) * report["verdict"]["offered_requests_per_second"]
        rows.append((reserve, f"{at_work:.1f}", f"{report['verdict']['output_tokens_per_second']:.0f}", f"{whole['answer_tokens_per_second']['mean']:.1f}",
                     ms(figure(whole["ttft_seconds"], "p50")), whole["preemptions"]))
    print_table("24 people, memory for two whole contexts",
                ("reserve", "sequences at work", "tokens/s in total", "tokens/s of one", "TTFT p50", "preemptions"), rows)


main()

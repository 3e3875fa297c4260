#!/usr/bin/env python3
"""Conversations of six turns, each with all that was said before: with and without the prefix cache."""
from experiment import Server, all_of, arguments, figure, ms, print_table, run


def main():
    given = arguments(__doc__)
    rows = []
    for way in ("true", "false"):
        with Server("--set", f"kv.prefix_cache={way}") as server:
            report = run(given.out, f"cache-{way}", server.url, "--users", "4", "--turns", "6", "--prompt", "120", "--output", "60", "--think", "0.5",
                         "--duration", "60", "--warm-up", "5")
        whole = all_of(report)
        rows.append((way, f"{(whole['prefix_hit_rate'] or 0) * 100:.0f} %", ms(figure(whole["ttft_seconds"], "p50")),
                     ms(figure(whole["ttft_seconds"], "p90")), f"{whole['offered']}", f"{report['verdict']['output_tokens_per_second']:.0f}",
                     f"{whole['answer_tokens_per_second']['mean']:.1f}"))
    print_table("Four people in conversations of six turns",
                ("prefix cache", "prompt tokens found", "TTFT p50", "p90", "answers in a minute", "tokens/s in total", "tokens/s of one"), rows)


main()

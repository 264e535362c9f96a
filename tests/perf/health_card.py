"""What a health test shows on this machine's card: coverage, rate against copy, errors, heat. Sets nothing.

Usage: python tests/perf/health_card.py [MINUTES] [further options of ``health``, e.g. --gpu SEL]
"""

import json
import subprocess
import sys


def main() -> int:
    """Run the test and print its figures beside what they must be."""
    minutes, *more = sys.argv[1:] or ["5"]
    command = [sys.executable, "-m", "gputuner", "--cli", "health", "--minutes", minutes, "--json", "--quiet", *more]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    document = json.loads(ended.stdout)
    points = document["points"]

    def of(metric):
        return [point for point in points if point["metric"] == metric]

    print(f"exit {ended.returncode}, verdicts {[entry['verdict'] for entry in document['verdicts']]}")
    for point in of("vram_coverage"):
        extra = point["extra"]
        print(f"coverage {point['value']:.4f} of the card, {extra['checked_bytes'] / 2**30:.1f} GiB")
        if "of_free" in extra:
            print(f"of what was free {extra['of_free']:.4f} (must be >= 0.97)")
    for point in of("vram_test_rate"):
        share = point["extra"].get("of_copy", 0.0)
        print(f"VRAM test {point['value'] / 1e9:.1f} GB/s, {share:.3f} of copy (must be >= 0.60)")
    for heat in ("cold", "hot"):
        own = [point for point in of("vram_errors") if point["params"]["heat"] == heat]
        ends = [p["conditions"]["core_temperature_end_c"] for p in own if p["conditions"]]
        worst = max((end for end in ends if end is not None), default=None)
        print(f"{heat}: {sum(p['value'] for p in own):.0f} wrong words, core at most {worst} degC")
    burned = of("burn_errors")
    print(f"products {sum(p['extra']['products'] for p in burned)}, wrong {sum(p['value'] for p in burned):.0f}")
    for point in of("identity_check"):
        print(point["params"]["check"], point["value"], point["extra"])
    for point in of("identity_verdict"):
        print(point["params"], point["extra"])
    return ended.returncode


if __name__ == "__main__":
    raise SystemExit(main())

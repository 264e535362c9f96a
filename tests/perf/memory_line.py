"""Whether the line of memory against batch, from small probes, says what 0.9 of the limit really takes.

Run from the checkout: ``python -m tests.perf.memory_line [--models resnet50,bert,…] [-- options of the command]``, e.g.
``-- --memory-cap 24`` on a card or ``-- --gpu cpu --memory-cap 2``. Asks ``batch MODEL --limit-only`` of each built-in
training; its line is told before any size near the limit is tried, and its safe size (0.9 of the limit) is then run.
Prints Markdown. The bar is 3 %.
"""

import argparse
import json
import subprocess
import sys
import tempfile

MODELS = "resnet50,bert,edsr,gpt,lstm,llm"
FORMATS = "fp32,bf16"
"""The LSTM has no BF16 on a card: FP16 takes its place."""
GIB = 2**30


def asked(model, precision, options):
    """The document of one run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "gputuner", "--cli", "batch", model, "--limit-only", "--precision", precision]
        command += ["--json", "--quiet", "--data-dir", folder, *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]}
    return json.loads(done.stdout)


def compared(document):
    """Cells of a row: limit, size, predicted and measured GiB, error."""
    points = document["points"]
    lines = [p for p in points if p["metric"] == "memory_per_sample"]
    limits = [p for p in points if p["metric"] == "batch_limit"]
    sizes = [p for p in points if p["metric"] == "batch_safe"]
    if not (lines and limits and sizes):
        return ["no line"]
    size = int(sizes[0]["value"])
    runs = [p for p in points if p["metric"] == "train_throughput" and p["params"]["batch"] == size]
    peaks = [p["extra"]["allocated_peak_bytes"] for p in runs if p["extra"].get("allocated_peak_bytes")]
    if not peaks:
        return [int(limits[0]["value"]), size, "not run"]
    line = lines[0]
    predicted = line["extra"]["fixed_bytes"] + line["value"] * size
    error = predicted / peaks[-1] - 1.0
    return [int(limits[0]["value"]), size, f"{predicted / GIB:.3f}", f"{peaks[-1] / GIB:.3f}", f"{100 * error:+.2f} %"]


def main():
    """All models in all formats."""
    words = sys.argv[1:]
    options = words[words.index("--") + 1 :] if "--" in words else []
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--formats", default=FORMATS)
    chosen = parser.parse_args(words[: words.index("--")] if "--" in words else words)
    print(
        "| training | format | limit | size | predicted, GiB | measured, GiB | error |\n|---|---|---|---|---|---|---|"
    )
    for model in chosen.models.split(","):
        for precision in chosen.formats.replace("bf16", "fp16" if model == "lstm" else "bf16").split(","):
            document = asked(model, precision, options)
            cells = [document["failed"]] if "failed" in document else compared(document)
            print(f"| {' | '.join(map(str, [model, precision, *cells]))} |", flush=True)


if __name__ == "__main__":
    main()

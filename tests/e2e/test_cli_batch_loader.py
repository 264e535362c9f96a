"""``batch --loader``: from the command line down to a DataLoader that really runs, and on a simulated card."""

from pathlib import Path

import pytest

CARD = "rtx-4090-48g"
EXAMPLES = Path(__file__).parents[2] / "docs/examples"
METRICS = {"loader_demand", "loader_supply", "loader_fed", "loader_best"}

pytestmark = pytest.mark.e2e


@pytest.mark.torch
@pytest.mark.parametrize("name", ["own_loader", "own_data_set"])
def test_the_examples_of_the_docs_run(gputuner, name):
    ended = gputuner(
        "batch", "--recipe", f"{name}.py:make", "--loader", "--batch-size", "32", "--precision", "fp32",
        "--minutes", "0.5", "--gpu", "cpu", "--json", cwd=EXAMPLES,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    document = ended.document
    assert document["schema"] == "gputuner.loading/1"
    assert {point["metric"] for point in document["points"]} == METRICS
    assert {point["workload"] for point in document["points"]} == {f"{name}.py:make"}
    (best,) = [point for point in document["points"] if point["metric"] == "loader_best"]
    fed = {point["params"]["workers"] for point in document["points"] if point["metric"] == "loader_fed"}
    assert best["params"]["workers"] in fed
    assert not any(str(EXAMPLES) in str(point) for point in document["points"])
    decode = [w for w in document["warnings"] if w["code"] == "loading_decode"]
    assert len(decode) == 1
    assert "your own" in decode[0]["message"]


@pytest.mark.torch
def test_a_recipe_without_a_loader_says_what_to_add(gputuner):
    ended = gputuner(
        "batch", "--recipe", "plain_torch.py:make", "--loader", "--batch-size", "8", "--minutes", "0.5", "--gpu", "cpu",
        cwd=EXAMPLES,
    )  # fmt: skip
    assert ended.code == 6
    assert "gives neither loader" in ended.err


def test_on_a_simulated_card_a_stand_in_loads_and_says_so(gputuner):
    ended = gputuner("batch", "--loader", "--simulate", CARD, "--json", "--quiet")
    document = ended.document
    assert (ended.code, document["simulated"]) == (0, True)
    assert {point["metric"] for point in document["points"]} >= METRICS
    assert "loading_host_simulated" in [w["code"] for w in document["warnings"]]
    assert all(entry["id"].startswith(("loading.", "host.", "limit.")) for entry in document["advice"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--loader", "--limit-only"), "exclude"),
        (("bert", "--loader"), "no loader of its own"),
        (("--batch-size", "8"), "--loader"),
        (("--recipe", "mine.py:make", "--loader"), "simulated"),
    ],
)
def test_what_cannot_be_meant_is_refused(gputuner, words, told):
    ended = gputuner("batch", *words, "--simulate", CARD)
    assert ended.code == 2
    assert told in ended.err

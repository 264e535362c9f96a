"""The optimizer that a training stepped with is named once, in people's words."""

import pytest

from gputuner.language.optimizers import optimizers
from gputuner.model.points import Point


def rate(**extra):
    return Point(id="p", card="c", metric="train_throughput", workload="w", params={}, value=1.0, unit="", extra=extra)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ([], ""),
        ([rate()], ""),
        ([rate(optimizer="sgd_momentum", optimizer_as="foreach")], "SGD with momentum"),
        ([rate(optimizer="adamw_fused"), rate(), rate(optimizer="adamw_fused")], "AdamW, fused"),
        ([rate(optimizer="Lion", optimizer_as="plain")], "Lion"),
        ([rate(optimizer="AdamW", optimizer_as="foreach")], "AdamW, foreach"),
        ([rate(optimizer="adam_fused"), rate(optimizer="SGD", optimizer_as="fused")], "Adam, fused, SGD, fused"),
    ],
)
def test_in_words(told, words):
    assert optimizers(told) == words

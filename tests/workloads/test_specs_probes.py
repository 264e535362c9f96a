"""Specs of the probes: what is refused, and blocks that suit a card."""

import pytest

from gputuner.model.errors import UsageError
from gputuner.workloads.specs_probes import ChaseSpec, RegionsSpec

GIB = 1 << 30


def test_a_chase_needs_a_line_and_an_address_of_32_bits():
    assert ChaseSpec(largest_bytes=GIB).params() == {"largest_bytes": GIB, "stride_bytes": 128}
    for wrong in ({"largest_bytes": 1}, {"largest_bytes": 1 << 41}, {"largest_bytes": GIB, "stride_bytes": 4}):
        with pytest.raises(UsageError):
            ChaseSpec(**wrong)


@pytest.mark.parametrize(
    ("total_gib", "block_mib", "keep_mib"),
    [(8, 256, 512), (24, 256, 512), (48, 256, 768), (64, 512, 1024), (141, 1024, 2256)],
)
def test_blocks_and_margin_suit_the_card(total_gib, block_mib, keep_mib):
    spec = RegionsSpec.of(total_gib * GIB)
    assert (spec.block_bytes >> 20, spec.keep_bytes >> 20) == (block_mib, keep_mib)


def test_blocks_that_a_cache_holds_and_no_margin_are_refused():
    with pytest.raises(UsageError):
        RegionsSpec(block_bytes=1 << 20, keep_bytes=GIB)
    with pytest.raises(UsageError):
        RegionsSpec(block_bytes=GIB, keep_bytes=0)

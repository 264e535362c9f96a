"""Samples of the built-in loader, the feed of a training, and decoding on the card."""

import itertools
import sys

import pytest

torch = pytest.importorskip("torch")

from gputuner.workloads.bodies.failures import UnsupportedError  # noqa: E402
from gputuner.workloads.bodies.loader_card import dali_batches  # noqa: E402
from gputuner.workloads.bodies.loader_feed import Feed, Setting  # noqa: E402
from gputuner.workloads.bodies.loader_samples import (  # noqa: E402
    DEVIATION,
    MEAN,
    STAND_IN,
    Images,
    Turns,
    best_decoder,
    decoding,
    encoded,
    pictures,
    prepared,
)
from gputuner.workloads.bodies.packages import has  # noqa: E402

pytestmark = pytest.mark.torch
PICTURES = pictures(1, 3)


def images(size=32):
    return Images(PICTURES, STAND_IN, size)


def test_pictures_are_as_large_as_photographs_and_differ():
    assert [tuple(p.shape) for p in PICTURES] == [(3, 375, 500)] * 3
    assert PICTURES[0].dtype == torch.uint8
    assert not torch.equal(PICTURES[0], PICTURES[1])
    assert all(float(p.float().std()) > 30 for p in PICTURES)


def test_a_sample_depends_on_its_place_alone():
    first, again, other = (prepared(PICTURES[0], place, 32) for place in (5, 5, 6))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert first.shape == (3, 32, 32)
    assert first.dtype == torch.float32


def test_colours_are_normalised_as_for_imagenet():
    grey = torch.full((3, 375, 500), 128, dtype=torch.uint8)
    expected = [(128 / 255 - mean) / deviation for mean, deviation in zip(MEAN, DEVIATION, strict=True)]
    found = prepared(grey, 0, 16).flatten(1)
    torch.testing.assert_close(found, torch.tensor(expected)[:, None].expand_as(found))


@pytest.mark.skipif(best_decoder() == STAND_IN, reason="neither torchvision nor Pillow is installed")
def test_decoding_gives_the_picture_back():
    decoder = best_decoder()
    kept = encoded(PICTURES[0], decoder)
    assert 20e3 < len(kept) < 250e3
    found = decoding(decoder)(kept)
    assert found.shape == PICTURES[0].shape
    assert float((found.float() - PICTURES[0].float()).abs().mean()) < 14.0


def test_places_go_on_without_end_or_to_the_end_of_the_epoch():
    assert list(itertools.islice(Turns(), 5)) == [0, 1, 2, 3, 4]
    assert list(Turns(3)) == [0, 1, 2]


def test_a_feed_gives_the_samples_in_order_and_begins_each_epoch_anew():
    with Feed(images(), 2, Setting(workers=0, epoch=2)) as feed:
        places = [feed.take()[1].tolist() for _ in range(5)]
    assert places == [[0, 1], [2, 3], [0, 1], [2, 3], [0, 1]]


def test_processes_give_the_same_samples():
    expected = torch.stack([images()[place][0] for place in range(4)])
    with Feed(images(), 4, Setting(workers=2)) as feed:
        batch, places = feed.take()
    assert torch.equal(batch, expected)
    assert places.tolist() == [0, 1, 2, 3]


def test_where_nothing_can_be_forked_there_are_no_processes(monkeypatch):
    monkeypatch.setattr("multiprocessing.get_all_start_methods", lambda: ["spawn"])
    with pytest.raises(UnsupportedError):
        Feed(images(), 4, Setting(workers=1))
    with Feed(images(), 4, Setting(workers=0)) as feed:
        assert feed.take()[0].shape == (4, 3, 32, 32)


def test_without_dali_its_decoding_is_unsupported():
    if has("nvidia.dali"):
        pytest.skip("DALI is installed")
    with pytest.raises(UnsupportedError):
        dali_batches([], 4, 32, 1, 0)


def test_a_torchvision_built_for_another_torch_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / "torchvision").mkdir()
    (tmp_path / "torchvision/__init__.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')")
    (tmp_path / "PIL").mkdir()
    (tmp_path / "PIL/__init__.py").write_text("raise ImportError")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.split(".")[0] in ("torchvision", "PIL")]:
        monkeypatch.delitem(sys.modules, name)
    assert best_decoder() == STAND_IN

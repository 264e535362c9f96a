import gc
import multiprocessing

import pytest

torch = pytest.importorskip("torch")

from gputuner.workloads.bodies.cpu import CpuDevice  # noqa: E402
from gputuner.workloads.bodies.resnet50 import ResNet50Training  # noqa: E402
from gputuner.workloads.bodies.training_feed import LoaderFeed, Pool, room_for_workers, usable_workers  # noqa: E402

pytestmark = pytest.mark.torch


def numbered(count=6):
    return Pool(torch.arange(count).view(count, 1).float(), torch.arange(count))


def test_batches_go_on_over_the_border_of_the_pool():
    feed = LoaderFeed(CpuDevice(None), numbered(), batch=4, prepare=lambda inputs: inputs * 10.0)
    taken = [feed.take() for _ in range(3)]
    assert [targets.tolist() for _, targets in taken] == [[0, 1, 2, 3], [4, 5, 0, 1], [2, 3, 4, 5]]
    assert taken[1][0].flatten().tolist() == [40.0, 50.0, 0.0, 10.0]
    notes = feed.notes()
    assert notes["copied_bytes"] == 4 * 4 + 4 * 8
    assert 0.0 <= notes["loader_wait_fraction"] <= 1.0


def test_processes_feed_the_same_batches():
    feed = LoaderFeed(CpuDevice(None), numbered(), batch=3, prepare=lambda inputs: inputs, workers=1)
    assert [feed.take()[1].tolist() for _ in range(3)] == [[0, 1, 2], [3, 4, 5], [0, 1, 2]]
    assert feed.notes()["loader_workers"] == 1


def test_processes_end_with_the_feed():
    feed = LoaderFeed(CpuDevice(None), numbered(), batch=3, prepare=lambda inputs: inputs, workers=2)
    feed.take()
    started = multiprocessing.active_children()
    assert len(started) == 2
    del feed
    gc.collect()
    assert not multiprocessing.active_children()
    assert all(process.exitcode is not None for process in started)


def test_never_more_workers_than_cores(monkeypatch, tmp_path):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(4)))
    assert usable_workers(tmp_path) == 3
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    assert usable_workers(tmp_path) == 0
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(128)))
    assert usable_workers(tmp_path) == 8


@pytest.mark.parametrize(("quota", "workers"), [("max", 7), ("350000", 2), ("100000", 0), ("50000", 0)])
def test_never_more_workers_than_the_quota_grants(monkeypatch, tmp_path, quota, workers):
    """Eight cores by affinity, and a control group that grants time on fewer."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)))
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/cpu.max").write_text(f"{quota} 100000")
    assert usable_workers(tmp_path) == workers


def test_fed_input_has_shape_type_and_spread_of_the_synthetic_one():
    options = {"batch": 8, "precision": "fp32", "seed": 1, "image": 64}
    pairs = [ResNet50Training(CpuDevice(None), loader=name, **options)._source.take() for name in ("synthetic", "fed")]
    (images, labels), (fed_images, fed_labels) = pairs
    assert fed_images.shape == images.shape
    assert fed_images.dtype == images.dtype
    assert fed_labels.shape == labels.shape
    assert fed_labels.dtype == labels.dtype
    assert float(fed_images.mean()) == pytest.approx(0.0, abs=0.02)
    assert float(fed_images.std()) == pytest.approx(1.0, abs=0.01)


def test_resnet_learns_from_a_loader():
    body = ResNet50Training(CpuDevice(None), batch=2, precision="fp32", seed=1, image=32, loader="fed")
    for _ in range(2):
        body.iterate()
    assert body.notes()["loss_finite"] is True


def test_ready_batches_fit_into_half_of_the_shared_memory(monkeypatch, tmp_path):
    from collections import namedtuple

    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(64 << 20, 0, 64 << 20))
    assert room_for_workers(2 << 20, tmp_path) == 8
    assert room_for_workers(40 << 20, tmp_path) == 0
    assert room_for_workers(1, tmp_path / "none") == 8

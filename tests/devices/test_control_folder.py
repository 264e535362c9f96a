"""Root's journal lies only where nobody else can change what root would put back."""

import os
import sys
from pathlib import Path

import pytest

from gputuner.devices.control_folder import owned_by_root
from gputuner.model.errors import StoreError
from tests.devices.control_bench import HelperBench
from tests.fake_nvml.fixtures import FakeNvml

SOMEBODY = 65534
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root is refused")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "root" / "state"
    made.mkdir(parents=True)
    tmp_path.chmod(0o755)
    return made


@as_root
def test_a_folder_of_roots_own_serves_also_before_it_is_made(folder: Path) -> None:
    assert owned_by_root(folder) == folder.resolve()
    assert owned_by_root(folder / "not" / "yet") == folder.resolve() / "not" / "yet"


@as_root
@pytest.mark.parametrize(("mode", "owner"), [(0o777, 0), (0o1777, 0), (0o775, SOMEBODY), (0o755, SOMEBODY)])
@pytest.mark.parametrize("above", [False, True])
def test_one_that_others_can_change_is_refused(folder: Path, mode: int, owner: int, above: bool) -> None:
    part = folder.parent if above else folder
    os.chown(part, owner, 0)
    part.chmod(mode)
    if above and mode == 0o1777:  # as /tmp: what root has made there stays as it is
        assert owned_by_root(folder) == folder.resolve()
        folder = folder.parent / "another"  # which anybody could make before root
    with pytest.raises(StoreError) as refused:
        owned_by_root(folder)
    assert refused.value.code == "control_folder_foreign"
    assert refused.value.params["part"] == str(part.resolve())


@as_root
def test_a_group_that_is_not_roots_may_not_write(folder: Path) -> None:
    folder.chmod(0o775)
    assert owned_by_root(folder) == folder.resolve()
    os.chown(folder, 0, SOMEBODY)
    folder.chmod(0o775)
    with pytest.raises(StoreError):
        owned_by_root(folder)


@as_root
def test_a_link_is_followed_once_and_what_it_leads_to_is_judged(folder: Path) -> None:
    link, theirs = folder.parent / "link", folder.parent / "theirs"
    theirs.mkdir()
    os.chown(theirs, SOMEBODY, SOMEBODY)
    link.symlink_to(folder)
    assert owned_by_root(link) == folder.resolve(), "and who swaps the link later changes nothing"
    link.unlink()
    link.symlink_to(theirs)
    with pytest.raises(StoreError):
        owned_by_root(link)


@as_root
def test_the_helper_ends_before_it_touches_a_card(fake_nvml: FakeNvml, folder: Path) -> None:
    bench = HelperBench(fake_nvml, folder)
    os.chown(folder, SOMEBODY, SOMEBODY)
    with pytest.raises(StoreError) as refused:
        bench.start()
    assert refused.value.code == "control_folder_foreign"
    assert bench.fake.writes() == []
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="no such rights")
def test_others_keep_theirs_where_they_like(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    tmp_path.chmod(0o777)
    assert owned_by_root(tmp_path) == tmp_path

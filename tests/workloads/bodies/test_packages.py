from gputuner.workloads.bodies.packages import found, has


def test_what_is_there_is_found_without_being_imported(tmp_path, monkeypatch):
    (tmp_path / "lightning.py").write_text("raise RuntimeError('imported')")
    (tmp_path / "nvidia").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert has("lightning")
    assert "lightning" in found().split()
    assert not has("nvidia.dali")


def test_a_folder_that_is_not_there_is_no_error():
    assert not has("surely_not_here")
    assert not has("surely_not_here.inside")

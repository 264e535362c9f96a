"""Work beside the probes that a processor has, for real: both from one barrier, steps of both in common time."""

import pytest

from gputuner.analysis.contention import common_window, inside
from gputuner.analysis.contention_pressure import ProbeSetting
from gputuner.experiments.contention_probes import probe_work, settings_of
from gputuner.model.codec import from_builtins
from gputuner.model.steps import Trial

pytestmark = pytest.mark.torch

PRODUCT = {"precision": "fp32", "n": 256}


def trial_of(message):
    assert message["kind"] == "result", message
    return from_builtins({k: v for k, v in message.items() if k not in ("kind", "id")}, Trial)


def test_probes_of_the_processor_run_beside_other_work(worker, start_worker):
    other = start_worker()
    probes = {setting.probe for setting in settings_of("processes", cpu=True)}
    for probe in sorted(probes):
        work = probe_work(ProbeSetting(probe=probe, burst_s=0.005), 0.3, warmup_s=0.1)
        alone = trial_of(worker.trial("pressure", dict(work.params), measure_s=0.2, budget_s=60.0, warmup_s=0.1))
        passes = alone.notes["passes"]
        assert isinstance(passes, int)
        assert passes >= 1
        timing = {"measure_s": 600.0, "budget_s": 1200.0, "warmup_s": 0.1, "barrier": True}
        worker.ask("pressure", {**work.params, "passes": passes}, id=probe, **timing)
        other.ask("matmul", PRODUCT, id=probe, **timing)
        for each in (worker, other):
            assert each.until("armed", "failed")["kind"] == "armed"
        for each in (worker, other):
            each.send(kind="go", id=probe)
        for each in (worker, other):
            while each.until("progress")["phase"] != "measure":
                pass
        for each in (worker, other):  # both have measured while the other did
            each.send(kind="stop", id=probe)
        trials = [trial_of(each.until("result", "failed")) for each in (worker, other)]
        window = common_window(trials)
        assert window[0] < window[1], "they ran at the same time"
        assert all(trial.iteration_s for trial in trials)
        assert any(inside(trial, *window) for trial in trials)
        assert trials[0].notes["passes"] == passes, "beside others it repeats the burst that it found alone"
        assert trials[0].work == alone.work

"""The machine around the card."""

from gputuner.advice.host import governor_rule, launch_rule, quota_rule, threads_rule


def test_governor(lab):
    assert governor_rule(lab.Evidence(card=lab.card(), fingerprint=lab.host(governor="performance"))) == []
    assert governor_rule(lab.Evidence(card=lab.card(), fingerprint=lab.host(governor=None))) == []
    (told,) = governor_rule(lab.Evidence(card=lab.card(), fingerprint=lab.host(governor="powersave")))
    assert told.risk
    assert told.evidence == ("host:governor",)


def test_quota_sizes_the_loader_by_what_may_be_used(lab):
    (told,) = quota_rule(lab.Evidence(card=lab.card(), fingerprint=lab.host(cgroup_quota_cores=4.0, cores_logical=64)))
    assert told.params["workers"] == 3
    assert "num_workers=3" in told.snippet
    assert (
        quota_rule(lab.Evidence(card=lab.card(), fingerprint=lab.host(cgroup_quota_cores=None, cores_logical=4))) == []
    )


def test_threads_on_a_cpu(lab):
    host = lab.host(cores_physical=8, cores_logical=16, cgroup_quota_cores=2.0)
    (told,) = threads_rule(lab.Evidence(card=lab.card(cpu=True), fingerprint=host, threads=32))
    assert told.params["cores"] == 2
    assert threads_rule(lab.Evidence(card=lab.card(cpu=True), fingerprint=host, threads=2)) == []
    assert threads_rule(lab.Evidence(card=lab.card(), fingerprint=host, threads=32)) == []


def test_steps_that_do_not_grow_with_the_batch_wait_for_launches(lab):
    points = (lab.rate("a", 8, 100.0), lab.rate("b", 16, 195.0), lab.rate("c", 32, 250.0))
    (told,) = launch_rule(lab.Evidence(card=lab.card(), points=points))
    assert told.params["up_to_batch"] == 16
    assert launch_rule(lab.Evidence(card=lab.card(), points=points[1:])) == []
    assert launch_rule(lab.Evidence(card=lab.card(cpu=True), points=points)) == []

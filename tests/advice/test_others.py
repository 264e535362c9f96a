"""Other users of the card."""

from gputuner.advice.others import busy_rule, unowned_rule
from gputuner.model.samples import CardProcesses, ProcessOnCard


def table(lab, *processes, unowned=None):
    return CardProcesses(card=lab.UUID, t_ns=0, processes=processes, unowned_bytes=unowned)


def process(pid, name, memory, compute=True):
    return ProcessOnCard(pid=pid, name=name, user=None, command=None, memory_bytes=memory, compute=compute)


def test_busy_names_the_largest(lab):
    rows = [process(i, f"p{i}", i << 30) for i in range(1, 6)]
    (told,) = busy_rule(lab.Evidence(card=lab.card(), processes=table(lab, *rows)))
    assert told.params["count"] == 5
    assert told.params["names"] == "p5 (5), p4 (4), p3 (3)"
    assert told.params["bytes"] == 15 << 30


def test_a_desktop_is_not_a_busy_card(lab):
    rows = [process(1, "Xorg", 1 << 28, compute=False)]
    assert busy_rule(lab.Evidence(card=lab.card(), processes=table(lab, *rows))) == []


def test_memory_without_an_owner(lab):
    (told,) = unowned_rule(lab.Evidence(card=lab.card(), processes=table(lab, unowned=12 << 30)))
    assert told.params["share"] == 0.5
    assert unowned_rule(lab.Evidence(card=lab.card(), processes=table(lab, unowned=1 << 20))) == []
    assert unowned_rule(lab.Evidence(card=lab.card(), processes=table(lab, unowned=None))) == []

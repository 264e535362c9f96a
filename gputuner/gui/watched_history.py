# pyright: standard
"""What the window remembers of a command that is watched: growing arrays for its curves, and the newest look."""

from math import nan

from gputuner.gui.history import Track
from gputuner.model.events import CommandSampled
from gputuner.model.followed import TrainingNow

STEP, WAITING, CORES, MEMORY, CARD_MEMORY = "step_s", "waiting", "cores", "memory_bytes", "card_bytes"


class WatchedHistory:
    """Tracks over the run's clock (s): of the first training, of the process tree, of the cards' memory."""

    def __init__(self) -> None:
        self.tracks = {name: Track() for name in (STEP, WAITING, CORES, MEMORY, CARD_MEMORY)}
        self.last: CommandSampled | None = None
        self.training: TrainingNow | None = None
        """The training of lowest rank, as it was told last."""

    def take(self, event: CommandSampled) -> None:
        """Take one look in; what was not told this time is a gap, a training's figures hold until the next ones."""
        t_s = event.t_ns * 1e-9
        self.last = event
        self.tracks[CORES].append(t_s, event.tree.cpu_cores)
        self.tracks[MEMORY].append(t_s, float(event.tree.memory_bytes))
        held = [card.own_bytes for card in event.cards if card.own_bytes is not None]
        self.tracks[CARD_MEMORY].append(t_s, float(sum(held)) if held else nan)
        if event.trainings:
            self.training = min(event.trainings, key=lambda each: (each.rank or 0, each.pid))
            for name, value in ((STEP, self.training.step_s), (WAITING, self.training.waiting)):
                self.tracks[name].append(t_s, nan if value is None else value)

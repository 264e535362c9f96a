"""What an advice was measured on, and what is different now: card, driver, torch, host."""

from hashlib import sha256

from gputuner.model.cards import CPU_CARD, CardInfo
from gputuner.model.fingerprint import CardFingerprint, Fingerprint, HostFingerprint, TorchFingerprint
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

CARD, CARD_NAME, PROCESSOR = "card", "card_name", "cpu"
SAME = (CARD, PROCESSOR)
"""Where one of these differs it is another card."""
DIGITS = 16
RECIPE = "recipe_sha256"
"""Of a figure of a recipe: the digest of its file."""
OF_CARD = ("driver", "vbios", "power_limit_enforced_w", "ecc_enabled", "mig_enabled", "clock_locked")
OF_HOST = ("cores_logical", "cgroup_quota_cores", "governor")


def card_of(uuid: str, host: HostFingerprint) -> dict[str, Scalar]:
    """Which card: the hash of its UUID; of a processor, which all have the same, its name."""
    if uuid != CPU_CARD:
        return {CARD: sha256(uuid.encode()).hexdigest()[:DIGITS]}
    name = host.readings.get("cpu")
    return {PROCESSOR: str(name.value)} if name is not None and name.value is not None else {}


def conditions_of(card: CardInfo, found: Fingerprint, torch: TorchFingerprint | None) -> dict[str, Scalar]:
    """What figures of ``card`` were measured on, as far as it is known: a flat record to be compared."""
    told: dict[str, Scalar] = {CARD_NAME: card.title, **card_of(card.uuid, found.host)}
    digest = sha256(card.uuid.encode()).hexdigest()[:DIGITS]
    own = next((each for each in found.cards if each.uuid_hash == digest), None)
    told |= _of_card(own) if own is not None else {}
    for name in OF_HOST:
        reading = found.host.readings.get(name)
        if reading is not None and reading.value is not None:
            told[name] = reading.value
    if torch is not None:
        told |= {"torch": torch.version, **({"torch_cuda": torch.cuda} if torch.cuda else {})}
    return told


def _of_card(own: CardFingerprint) -> dict[str, Scalar]:
    values = {name: own.readings[name].value for name in OF_CARD if name in own.readings}
    return {name: value for name, value in values.items() if value is not None}


def is_same_card(before: dict[str, Scalar], now: dict[str, Scalar]) -> bool:
    """Whether both tell which card, and it is the same."""
    told = [name for name in SAME if name in before or name in now]
    return bool(told) and all(before.get(name) == now.get(name) for name in told)


def differences(before: dict[str, Scalar], now: dict[str, Scalar]) -> dict[str, tuple[Scalar, Scalar]]:
    """What both tell and is not the same; which card it is stands apart (``is_same_card``)."""
    names = [name for name in before if name in now and name not in (*SAME, CARD_NAME)]
    return {name: (before[name], now[name]) for name in names if before[name] != now[name]}


def recipe_digest(points: tuple[Point, ...], workload: str) -> str:
    """The digest of the recipe's file when the newest figure of ``workload`` was measured; empty: not known."""
    told = [str(p.extra[RECIPE]) for p in points if p.workload == workload and RECIPE in p.extra]
    return told[-1] if told else ""

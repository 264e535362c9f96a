"""Case C-034: settings keep the UUID; an old saved index is migrated or asked about."""

import json
from pathlib import Path

from gputuner.model.cards import CPU_CARD, CardInfo
from gputuner.settings.paths import paths
from gputuner.settings.preferences import Preferences, load, save
from gputuner.settings.selection import WhichCard, choose, resolve

CASE = json.loads((Path(__file__).parents[1] / "data" / "settings" / "c034_ident_fastest_first.json").read_text())
CARDS = tuple(CardInfo(uuid=d["uuid"], index=d["index"], name=d["name"]) for d in CASE["devices"])
CPU = CardInfo(uuid=CPU_CARD, index=0, name="CPU")


def old(folder: Path, entries: dict[str, object]) -> Path:
    file = paths(folder).preferences
    file.write_text(json.dumps(entries))
    return file


def test_an_index_among_two_cards_is_asked_about_and_the_answer_is_kept_as_uuid(tmp_path: Path) -> None:
    # NVML's 0 is the GTX 1650, CUDA's 0 the RTX 4090
    file = old(tmp_path, CASE["settings"])
    asked = resolve(load(file).preferences, CARDS)
    assert asked == WhichCard(index=0, cards=CARDS)
    save(file, choose(load(file).preferences, CARDS[CASE["cuda_devices"][0]["same_as_nvml"]]))
    kept = json.loads(file.read_text())
    assert kept["selected_card"] == "GPU-00001111-aaaa-bbbb-cccc-000000005001"
    assert "selected" not in kept
    assert "selected_index" not in kept
    assert resolve(load(file).preferences, CARDS) == load(file).preferences


def test_the_question_stays_until_it_is_answered(tmp_path: Path) -> None:
    file = old(tmp_path, CASE["settings"])
    save(file, load(file).preferences)
    assert isinstance(resolve(load(file).preferences, CARDS), WhichCard)


def test_an_index_that_can_mean_one_card_only_is_migrated(tmp_path: Path) -> None:
    for selected in ("0", 0):
        found = load(old(tmp_path, {"selected": selected})).preferences
        assert resolve(found, (CARDS[1], CPU)) == Preferences(selected_card=CARDS[1].uuid)


def test_an_index_that_fits_no_card_is_asked_about() -> None:
    assert resolve(Preferences(selected_index=1), CARDS[:1]) == WhichCard(index=1, cards=CARDS[:1])
    assert resolve(Preferences(selected_index=0), (CPU,)) == WhichCard(index=0, cards=())


def test_a_uuid_needs_no_question(tmp_path: Path) -> None:
    found = load(old(tmp_path, {"selected": "GPU-x"})).preferences
    assert resolve(found, CARDS) == Preferences(selected_card="GPU-x")
    assert resolve(Preferences(selected_card="GPU-x", selected_index=3), CARDS) == Preferences(selected_card="GPU-x")
    assert choose(found, None) == Preferences()

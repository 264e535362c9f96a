import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.catalog import load
from gputuner.model.cards import Support
from gputuner.model.errors import StoreError, UsageError

CATALOG = load()
MIB = 2**20


def _identified(card_id: str, total_mib: int, name: str | None = None):
    facts = CATALOG.card(card_id)
    return CATALOG.match(name or facts.nvml_name_patterns[0], total_mib * MIB, facts.sm_count, facts.compute_capability)


@pytest.mark.parametrize("card_id", CATALOG.ids)
def test_every_card_is_recognised_by_each_of_its_names_and_totals(card_id):
    facts = CATALOG.card(card_id)
    for total in (facts.memory_total_mib, *facts.memory_total_mib_alt, *facts.memory_match_mib):
        for name in facts.nvml_name_patterns:
            match = _identified(card_id, total, name)
            assert (match.catalog_id, match.modded, match.note) == (card_id, facts.modded, None)


@given(st.sampled_from(CATALOG.ids), st.integers(min_value=0, max_value=300 * 1024))
def test_no_total_is_claimed_by_two_cards_of_one_name(card_id, total_mib):
    facts = CATALOG.card(card_id)
    rivals = [c for c in CATALOG.cards if set(c.nvml_name_patterns) & set(facts.nvml_name_patterns)]
    assert sum(c.holds_memory(total_mib * MIB) for c in rivals) <= 1


@pytest.mark.parametrize(
    ("name", "total_mib", "sms", "capability", "expected", "base"),
    [
        ("NVIDIA GeForce RTX 4090", 49140, 128, "8.9", "rtx-4090-48g", "GeForce RTX 4090"),
        ("NVIDIA GeForce RTX 4090", 24564, 128, "8.9", "rtx-4090", None),
        ("NVIDIA GeForce RTX 3080", 20480, 68, "8.6", "rtx-3080-20g", "GeForce RTX 3080 10GB"),
        ("GeForce RTX 2080 Ti", 22528, 68, "7.5", "rtx-2080-ti-22g", "GeForce RTX 2080 Ti"),
        ("NVIDIA GeForce RTX 4090 D", 49140, 114, "8.9", "rtx-4090-d-48g", "GeForce RTX 4090 D"),
        ("NVIDIA GeForce RTX 4080 SUPER", 32760, 80, "8.9", "rtx-4080-super-32g", "GeForce RTX 4080 SUPER"),
        ("NVIDIA H200", 143771, 132, "9.0", "h200-sxm", None),
    ],
)
def test_memory_tells_a_mod_from_its_donor(name, total_mib, sms, capability, expected, base):
    match = CATALOG.match(name, total_mib * MIB, sms, capability)
    assert match.catalog_id == expected
    assert match.modded == (base is not None)
    if base:
        assert match.base_name == CATALOG.card(CATALOG.card(expected).base_id).name


def test_a_variant_that_no_window_fits_is_said_to_be_unknown():
    # RTX 3080 12 GB: same name, another chip configuration, not in the catalogue
    match = CATALOG.match("NVIDIA GeForce RTX 3080", 12288 * MIB, 70, "8.6")
    assert (match.catalog_id, match.note, match.modded) == (None, "unknown_variant", False)
    assert match.architecture == "Ampere"


def test_a_relabelled_chip_is_not_believed():
    fewer = CATALOG.match("NVIDIA GeForce RTX 4090", 24564 * MIB, 114, "8.9")
    older = CATALOG.match("NVIDIA GeForce RTX 4090", 24564 * MIB, 128, "8.6")
    assert (fewer.catalog_id, fewer.note) == (None, "sm_count_differs")
    assert (older.catalog_id, older.note) == (None, "capability_differs")
    assert older.features["fp8"] is Support.ABSENT


def test_an_unknown_name_still_has_the_features_of_its_capability():
    match = CATALOG.match("NVIDIA GeForce RTX 9999", 24564 * MIB, 100, "12.0")
    assert (match.catalog_id, match.note) == (None, "unknown_name")
    assert match.features["bf16"] is Support.NATIVE
    assert "nvlink" not in match.features


def test_without_a_memory_total_no_variant_is_guessed():
    assert CATALOG.match("NVIDIA GeForce RTX 4090", None).note == "unknown_variant"


def test_reference_rates_come_from_the_sheet():
    rates = CATALOG.reference("rtx-4090-48g")
    # 128 SM × 512 FLOP × 2.52 GHz: FP16 with FP32 accumulation runs at half rate on GeForce
    assert rates["peak_fp16"] == pytest.approx(128 * 512 * 2.52e9, rel=0.01)
    assert rates["peak_fp16_acc16"] == pytest.approx(2 * rates["peak_fp16"], rel=0.01)
    assert rates["peak_bandwidth"] == 1008e9
    assert "peak_bf16" not in CATALOG.reference("rtx-2080-ti-22g")
    assert CATALOG.reference("h200-sxm")["peak_bf16"] == pytest.approx(132 * 4096 * 1.83e9, rel=0.01)


@pytest.mark.parametrize("card_id", CATALOG.ids)
def test_every_sheet_bandwidth_agrees_with_bus_and_data_rate(card_id):
    facts = CATALOG.card(card_id)
    derived = facts.bus_width_bits / 8 * facts.memory_data_rate_gbps
    assert facts.memory_bandwidth_gb_s == pytest.approx(derived, rel=0.03)


def test_published_figures_keep_their_source():
    found = CATALOG.published("rtx-4090-48g", "matmul_tflops")
    assert found
    assert all(r.source and r.gpu == "RTX 4090 48GB (mod)" for r in found)
    assert CATALOG.published("GH200")
    assert CATALOG.published("no such card") == ()


def test_no_published_figure_stands_for_two_cards():
    """Neither by a label that two cards share, nor by a row of a table that is copied to a second card."""
    cards = {card: {(r.gpu, r.metric, r.mode, r.value) for r in CATALOG.published(card)} for card in CATALOG.ids}
    told = [row for rows in cards.values() for row in rows]
    assert len(told) == len(set(told))
    assert not [row for card in CATALOG.ids for row in CATALOG.published(card) if "shared with" in row.conditions]
    bf16 = {r.value for r in CATALOG.published("h200-sxm", "matmul_tflops") if r.mode == "bf16_acc32"}
    assert bf16 == {790.29}, "794.5 TFLOP/s of mamf-finder stands in a row of the H100"


def test_an_unknown_card_names_those_that_resemble_it():
    with pytest.raises(UsageError) as caught:
        CATALOG.card("rtx-4090-96g")
    assert caught.value.code == "unknown_card"
    assert "rtx-4090" in str(caught.value.params["nearest"])


def test_broken_files_are_named(tmp_path):
    from gputuner.catalog.catalog import Catalog

    cards, results = tmp_path / "gpus.toml", tmp_path / "published-results.csv"
    results.write_text("gpu,metric,dtype_or_mode,value,unit,conditions,source\n")
    with pytest.raises(StoreError):
        Catalog.read(cards, results)
    cards.write_text('[[gpu]]\nid = "x"\nname = "X"\n')
    with pytest.raises(StoreError) as caught:
        Catalog.read(cards, results)
    assert caught.value.params["card"] == "x"


@pytest.mark.parametrize(
    ("name", "total_mib", "passive"),
    [
        ("Tesla P40", 24576, True),
        ("Tesla V100-PCIE-32GB", 32768, True),
        ("NVIDIA L40S", 46068, True),
        ("Tesla M40 24GB", 24576, True),
        ("NVIDIA GeForce RTX 3090", 24576, False),
        ("NVIDIA RTX A6000", 49140, False),
        ("NVIDIA GeForce RTX 9990", 65536, False),
    ],
)
def test_boards_without_a_fan_of_their_own_are_known(name, total_mib, passive):
    """Facts on cooling: P40, V100, L40S … show no fan, or one stuck at 0 %; workstation and GeForce cards have one."""
    assert CATALOG.match(name, total_mib * MIB, None, None).passive is passive


def test_the_memorys_limit_comes_with_the_match():
    assert CATALOG.match("Tesla V100-PCIE-32GB", 32768 * MIB, None, None).memory_limit_c == 85

"""Results that others published, with their sources (``resources/published-results.csv``)."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gputuner.model.errors import StoreError


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedResult:
    """One published figure. ``gpu`` is the label of the source; ``mode`` the data type or way of running."""

    gpu: str
    metric: str
    mode: str
    value: float
    unit: str
    conditions: str
    source: str


LABELS: dict[str, tuple[str, ...]] = {
    "v100-sxm2-16g": ("V100-SXM2-16GB",),
    "rtx-2080-ti": ("RTX 2080 Ti 11GB",),
    "rtx-2080-ti-22g": ("RTX 2080 Ti 22GB (mod)",),
    "rtx-3080-10g": ("RTX 3080 10GB", "RTX 3080 FE"),
    "rtx-3080-20g": ("RTX 3080 20GB (mod)",),
    "rtx-3080-ti": ("RTX 3080 Ti",),
    "rtx-3090": ("RTX 3090", "RTX 3090 FE", "RTX 3090 HOF", "RTX 3090 water"),
    "rtx-3090-ti": ("RTX 3090 Ti",),
    "rtx-4080-super": ("RTX 4080 Super",),
    "rtx-4090": ("RTX 4090 24GB", "RTX 4090 blower 24GB"),
    "rtx-4090-48g": ("RTX 4090 48GB (mod)",),
    "rtx-4090-d": ("RTX 4090D 24GB",),
    "rtx-4090-d-48g": ("RTX 4090D 48GB (mod)",),
    "rtx-5080": ("RTX 5080",),
    "rtx-5090": ("RTX 5090",),
    "rtx-5090-d": ("RTX 5090D",),
    "rtx-a6000": ("RTX A6000",),
    "rtx-6000-ada": ("RTX 6000 Ada",),
    "rtx-pro-6000-blackwell": ("RTX PRO 6000 Blackwell",),
    "a10": ("A10",),
    "a40": ("A40",),
    "l40": ("L40",),
    "l40s": ("L40S",),
    "a100-pcie-40g": ("A100-PCIE-40GB",),
    "a100-pcie-80g": ("A100-PCIE-80GB",),
    "a100-sxm-80g": ("A100-SXM4-80GB",),
    "h100-pcie": ("H100-PCIe-80GB",),
    "h100-sxm": ("H100-SXM-80GB", "H100-SXM", "H100-SXM-80GB (Dell)"),
    "h20": ("H20",),
    "h200-sxm": ("H200",),
    "b200": ("B200",),
}
"""Card of the catalogue → labels that surely mean this very card. Labels that leave the variant open are left out, and
a label stands for one card only: two variants may differ in clock, power and memory."""


def read_published(path: Path) -> tuple[PublishedResult, ...]:
    """All figures of the file.

    Raises:
        StoreError: the file cannot be read or a row has no number.
    """
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            return tuple(_rows(csv.DictReader(lines)))
    except (OSError, KeyError, ValueError) as err:
        raise StoreError("published_malformed", f"{path.name}: {err}", file=path.name) from err


def _rows(rows: Iterable[dict[str, str]]) -> Iterator[PublishedResult]:
    for row in rows:
        yield PublishedResult(
            gpu=row["gpu"],
            metric=row["metric"],
            mode=row["dtype_or_mode"],
            value=float(row["value"]),
            unit=row["unit"],
            conditions=row["conditions"],
            source=row["source"],
        )


def of_card(results: Iterable[PublishedResult], gpu: str, metric: str | None = None) -> tuple[PublishedResult, ...]:
    """Figures of a card (its id in the catalogue) or of a label as the source prints it."""
    labels = LABELS.get(gpu, (gpu,))
    return tuple(r for r in results if r.gpu in labels and (metric is None or r.metric == metric))

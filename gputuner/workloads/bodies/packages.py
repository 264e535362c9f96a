"""Which further packages this interpreter has, without importing them."""

from importlib.util import find_spec

ASKED = ("torchvision", "bitsandbytes", "nvidia.dali", "transformers", "lightning", "PIL")
"""What workloads and advice make use of where it is there."""


def has(package: str) -> bool:
    """Whether ``package`` can be imported (of ``a.b`` only ``a`` is imported to look)."""
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def found() -> str:
    """Names of those of ``ASKED`` that are there, with blanks between."""
    return " ".join(package for package in ASKED if has(package))

"""What all tests may use: test support in ``tests/`` is importable, fixtures are named here."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fake_nvml.fixtures import fake_nvml, fake_nvml_folder

__all__ = ["fake_nvml", "fake_nvml_folder"]

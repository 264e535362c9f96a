"""Fixtures that every room may use."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.fake_nvml.fixtures import fake_nvml, fake_nvml_folder
from tests.left_behind import pytest_runtest_protocol

__all__ = ["fake_nvml", "fake_nvml_folder", "open_path", "pytest_runtest_protocol"]

settings.register_profile("loaded machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("loaded machine")  # how long examples take says how busy the machine is


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A folder that other users can reach; those of pytest are closed to them again whenever a run of it begins."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)

"""Fixtures that every room may use."""

from tests.fake_nvml.fixtures import fake_nvml, fake_nvml_folder
from tests.left_behind import pytest_runtest_protocol

__all__ = ["fake_nvml", "fake_nvml_folder", "pytest_runtest_protocol"]

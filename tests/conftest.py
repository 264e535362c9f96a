"""Fixtures that every room may use."""

from tests.fake_nvml.fixtures import fake_nvml, fake_nvml_folder

__all__ = ["fake_nvml", "fake_nvml_folder"]

"""Commands to copy go on with what the command was given."""

from pathlib import Path

from gputuner.cli.again import snippet_lines
from gputuner.cli.options import Options

COMMAND = "gputuner --cli control set power-limit 288 --simulate rtx-4090-48g"


def test_a_command_to_paste_keeps_the_folder_of_sessions():
    options = Options(data_dir=Path("/tmp/my data"))
    assert snippet_lines(options, COMMAND) == [f"{COMMAND} --data-dir '/tmp/my data'"]
    assert snippet_lines(Options(), COMMAND) == [COMMAND]


def test_code_to_paste_is_left_alone():
    options = Options(data_dir=Path("/tmp/d"))
    assert snippet_lines(options, "import torch\ntorch.compile(model)") == ["import torch", "torch.compile(model)"]
    assert snippet_lines(options, None) == []

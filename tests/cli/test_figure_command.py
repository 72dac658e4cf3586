from __future__ import annotations

import pytest
from typer.testing import CliRunner

from allworlds.cli import app


def run(*arguments: str):
    return CliRunner().invoke(app, ["figure", *arguments])


def test_the_command_prints_the_path_of_the_file_it_wrote(tmp_path):
    target = tmp_path / "convexity.svg"
    result = run("1", "--out", str(target))
    assert (result.exit_code, result.stdout.strip()) == (0, str(target))
    assert b"<svg" in target.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["7"], "error: there is no figure 7; the paper has figure 1"),
        (
            ["1", "--out", "a.jpg"],
            "error: 'a.jpg' ends in '.jpg'; expected .png, .svg or .pdf",
        ),
        (["1", "--out", "/nowhere/at/all/a.png"], "error: cannot write '/nowhere/at/all/a.png'"),
    ],
)
def test_bad_requests_get_one_sentence_on_stderr_and_exit_code_2(arguments, sentence):
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(sentence)
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


@pytest.mark.parametrize("arguments", [["one"], []])
def test_a_number_that_is_none_is_a_usage_error(arguments):
    assert run(*arguments).exit_code == 2

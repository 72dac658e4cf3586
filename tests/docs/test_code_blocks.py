"""Every Python code block of the README and the docs runs, and every example and link works.

The blocks of one file share one namespace and run in order, in an empty folder. A block whose fence says
more than ``python`` (for example ``python illustration``) is shown only. An example that offers ``--quick`` is run with
it: a small version that downloads nothing. A file ``*_data.py`` fetches data for others and is not run.
"""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("**/*.md"))]
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if not path.stem.endswith("_data"))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
PICTURE = re.compile(r'\b(?:src|srcset)="([^"]+)"')


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(path: Path) -> list[str]:
    """Give the code blocks, each moved down to its place in the page, so that errors name the true line."""
    text = path.read_text(encoding="utf-8")
    return ["\n" * text[: found.start(1)].count("\n") + found.group(1) for found in BLOCK.finditer(text)]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name)
def test_every_code_block_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__page__"}
    for block in blocks(page):
        exec(compile(block, str(page), "exec"), namespace)


def test_the_readme_has_code_to_run():
    assert len(blocks(ROOT / "README.md")) >= 1


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_to_a_file_finds_it(page):
    text = page.read_text(encoding="utf-8")
    targets = [target for target in LINK.findall(text) + PICTURE.findall(text) if "://" not in target]
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []


@pytest.mark.parametrize("example", EXAMPLES, ids=name)
def test_every_example_runs(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT / "examples")
    quick = ["--quick"] if '"--quick"' in example.read_text(encoding="utf-8") else []
    monkeypatch.setattr(sys, "argv", [str(example), *quick])
    runpy.run_path(str(example), run_name="__main__")

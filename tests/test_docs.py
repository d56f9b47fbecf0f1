"""The code of the documentation runs: fenced Python blocks of docs/*.md and the README.

The blocks of a page share one namespace, from top to bottom. A block with `>>>` is a
doctest; any other is executed. A page is run in an empty directory.
"""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str]]:
    """The code of a page, with the line on which each block starts."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, m.start(1)), m[1]) for m in BLOCK.finditer(text)]


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: p.stem)
def test_code_of_page(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    for name in [m for m in sys.modules if m.partition(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)  # a page may put ember in its place
    namespace: dict = {"__name__": "__docs__"}
    for line, code in blocks(page):
        if ">>>" in code:
            test = doctest.DocTestParser().get_doctest(
                code, namespace, page.name, str(page), line
            )
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            runner.run(test, clear_globs=False)
            namespace.update(test.globs)
            assert runner.summarize().failed == 0, f"{page.name}, line {line + 1}"
        else:
            exec(compile("\n" * line + code, str(page), "exec"), namespace)


def test_cpp_in_the_guides_is_that_of_the_tree() -> None:
    def bare(text: str) -> str:
        return "".join(text.split())

    tree = [
        bare(f.read_text(encoding="utf-8"))
        for f in (ROOT / "core").rglob("*.*")
        if f.is_file()
    ]
    guide = (ROOT / "docs" / "adding_an_op.md").read_text(encoding="utf-8")
    for code in re.findall(r"^```cpp\n(.*?)^```", guide, re.MULTILINE | re.DOTALL):
        assert any(bare(code) in text for text in tree), f"not in core/:\n{code}"


def test_diffs_in_the_guides_are_those_of_the_tree() -> None:
    guide = (ROOT / "docs" / "adding_an_op.md").read_text(encoding="utf-8")
    for diff in re.findall(r"^```diff\n(.*?)^```", guide, re.MULTILINE | re.DOTALL):
        lines: set[str] = set()
        for line in diff.splitlines():
            if line.startswith("--- "):
                text = (ROOT / line[4:]).read_text(encoding="utf-8")
                lines = {each.strip() for each in text.splitlines()}
            elif line.startswith("+") and "..." not in line:
                assert line[1:].strip() in lines, f"not in the tree: {line}"


def test_the_spine_is_as_long_as_its_page_says() -> None:
    page = (ROOT / "docs" / "spine.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\S+\.\w+)` \| (\d+) \|", page, re.MULTILINE)
    total = 0
    for path, said in rows:
        count = len((ROOT / path).read_text(encoding="utf-8").splitlines())
        assert abs(count - int(said)) <= max(20, count // 8), (
            f"{path} has {count} lines"
        )
        total += count
    assert len(rows) > 50 and total < 12_000

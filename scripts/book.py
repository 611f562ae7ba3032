#!/usr/bin/env python3
"""Puts the pages of docs/ and rules/ together as a book: `scripts/book.py DIR`, then `mdbook build DIR`. A link that leads nowhere is an error."""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ["start", "editors", "ci", "vllm", "sglang", "traces", "configuration", "performance", "frameworks"]


def title(page):
    return page.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")


def main(folder):
    source = folder / "src"
    shutil.rmtree(source, ignore_errors=True)
    (source / "rules").mkdir(parents=True)
    pages = sorted((ROOT / "docs").glob("*.md"))
    strays = {page.stem for page in pages} - {*PAGES, "README"}
    if strays:
        sys.exit(f"pages that are not in the book: {', '.join(sorted(strays))}")
    for page in pages:
        shutil.copy(page, source)
    shutil.copy(ROOT / "docs/opwright.schema.json", source)
    rules = sorted((ROOT / "rules").glob("*.md"))
    for page in rules:  # the pages of docs/ stand at the top of the book
        text = page.read_text(encoding="utf-8").replace("](../docs/", "](../")
        (source / "rules" / page.name).write_text(text, encoding="utf-8")
    lines = ["# Summary", "", "[Opwright](README.md)", ""]
    lines += [f"- [{title(source / f'{name}.md')}]({name}.md)" for name in PAGES]
    lines += ["", "# Rules", ""]
    lines += [f"- [{page.stem}](rules/{page.name})" for page in rules]
    (source / "SUMMARY.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "book.toml").write_text('[book]\ntitle = "Opwright"\nsrc = "src"\nlanguage = "en"\n', encoding="utf-8")
    broken = []
    for page in sorted(source.rglob("*.md")):
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)#\s]+)", text):
            if "://" not in link and not (page.parent / link).exists():
                broken.append(f"{page.relative_to(source)}: {link}")
    if broken:
        sys.exit("links that lead nowhere:\n" + "\n".join(broken))
    if shutil.which("mdbook"):
        subprocess.run(["mdbook", "build", str(folder)], check=True)
    print(f"{len(pages) + len(rules)} pages in {folder}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))

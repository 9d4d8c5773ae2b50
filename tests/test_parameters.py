"""docs/operate/parameters.md explains each parameter of template.yaml, in the order of `sam deploy --guided`.

`python -m tests.test_parameters` writes it.
"""

import re
from pathlib import Path

from tests.aws import TEMPLATE, template
from tests.contents import with_contents

PAGE = Path(__file__).parent.parent / "docs" / "operate" / "parameters.md"
HEAD = """# Parameters

What each parameter of the template does, for operators, in the order in which `sam deploy --guided` asks for them.
Press Enter for the defaults in the second column. The answers are saved in samconfig.toml, in the line
`parameter_overrides`. To change one later, change it there, or run `sam deploy --guided` again, and deploy: the next
deployment resets a value that was given on the command line only. Functions read the values when they start, and a
deployment restarts them. An invalid value stops the deployment, or the start of a function with a sentence that names
the value.

(This page is written by `python -m tests.test_parameters`, from the template.)
"""


def page() -> str:
    text = TEMPLATE.read_text(encoding="utf-8")
    declared = text[text.index("\nParameters:\n") : text.index("\nRules:\n")]
    lines = [HEAD]
    for line in declared.splitlines():
        if group := re.match(r"  # --- (.*) ---$", line):
            title = group[1][0].upper() + group[1][1:]
            lines += ["", f"## {title}", "", "| Parameter | Default | Description |", "|---|---|---|"]
        elif name := re.match(r"  (\w+):", line):
            lines.append(_row(name[1]))
    return with_contents(re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n")


def _row(name: str) -> str:
    said = template()["Parameters"][name]
    description = said["Description"].replace("|", "\\|").replace("<", "&lt;")
    if choices := said.get("AllowedValues"):
        description += f" One of {', '.join(map(str, choices))}."
    bounds = [f"{word} {said[key]}" for key, word in (("MinValue", "at least"), ("MaxValue", "at most")) if key in said]
    if bounds:
        description += f" {', '.join(bounds).capitalize()}."
    default = f"`{said['Default']}`" if said["Default"] != "" else ""
    return f"| `{name}` | {default} | {description} |"


def test_the_page_is_generated_from_the_template() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "`python -m tests.test_parameters` writes it anew"


def test_each_parameter_is_explained_in_the_order_of_the_template() -> None:
    assert re.findall(r"^\| `(\w+)` \|", page(), re.MULTILINE) == list(template()["Parameters"])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

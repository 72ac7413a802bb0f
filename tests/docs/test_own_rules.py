"""The reader of blocks reads them as a browser and a shell would."""

from tests.docs.blocks import blocks_of, commands_of, files_of

PAGE = """# A page

```csv title="a.csv"
x,y
1,2
```

```sh
# a comment
spantree infer a.csv \\
    --json   # another
make run
```

```console
$ spantree --version
spantree 1
$ true
```

```text
not a command
```
"""


def test_blocks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    blocks = blocks_of(page)
    assert [block.language for block in blocks] == ["csv", "sh", "console", "text"]
    assert files_of(blocks) == {"a.csv": "x,y\n1,2\n"}
    commands = commands_of(blocks)
    assert [command.words for command in commands] == [
        ["spantree", "infer", "a.csv", "--json"],
        ["make", "run"],
        ["spantree", "--version"],
        ["true"],
    ]
    assert [command.output for command in commands] == [None, None, "spantree 1\n", ""]

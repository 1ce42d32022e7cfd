"""One odd row changes at most one cell by one, and never whether a table can be counted."""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from attack import Size, Tally

from hushtable.cli.main import run
from hushtable.kernel.counting import count_table
from hushtable.schema import Schema

HEADER = b"age,income,job"
PEOPLE = [b"1,15,clerk", b"2,5,boss", b"0,39.5,farmer", b"4,20.5,clerk", b'3,"7",boss'] * 8

VALUES: list[bytes] = [
    b"",
    b"x",
    b"1e400",
    b"-1e400",
    b"9" * 400,
    b"NaN",
    b"inf",
    b"-0",
    b"0x10",
    b"1_000",
    b"TRUE",
    b"NULL",
    b"\\N",
    b"\0",
    b"1\x002",
    b"\xff\xfe",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf1",
    "１".encode(),
    "\u2028".encode(),
    "1\u00a0".encode(),
    b'"',
    b'""',
    b'"1"',
    b'"1',
    b'1"',
    b'1"2',
    b'"1"2',
    b'"1""',
    b'"a, ""b"""',
    b'"line\nbreak"',
    b'"line\r\nbreak"',
    b"'",
    b"'1",
    b";",
    b"\t1",
    b"\\",
    b'\\"',
    b"#",
    b"--",
    b"2024-01-31",
    b"12:30:00",
    b"[1, 2]",
    b"{'a': 1}",
    b"1,2",
    b"a" * 70_000,
    b'"' + b"a" * 70_000 + b'"',
    b'"' + b"\n" * 100 + b'"',
    b"=1+1",
    b"\x1a",
    b"\x0b1",
]


def odd_rows() -> list[bytes]:
    """Each odd value in each column, and rows that are odd as a whole."""
    plain = [b"1", b"15", b"clerk"]
    rows = []
    for position in range(3):
        for value in VALUES:
            fields = list(plain)
            fields[position] = value
            rows.append(b",".join(fields))
    return [*rows, b"", b",", b",,", b",,,,", b"1", b'"', b'"1,15,clerk', HEADER, b"\0" * 10]


def random_row(chance: random.Random) -> bytes:
    """A row of hostile pieces; line breaks only where quotes hold them together."""
    pieces = [b"1", b"15", b"clerk", b",", b'"', b'""', b"'", b"\\", b"\0", b" ", b"\xff", b";"]
    row = b"".join(chance.choice(pieces) for _ in range(chance.randrange(1, 12)))
    if chance.random() < 0.2:
        row += b',"' + b"".join(chance.choice([b"a", b"\n", b'""', b","]) for _ in range(5)) + b'"'
    return row


@pytest.fixture(params=["clip", "drop", "other"])
def schema(request: pytest.FixtureRequest) -> Schema:
    outside = request.param
    return Schema.from_dict(
        {
            "name": "people",
            "budget": "3",
            "attribute": [
                {"name": "age", "kind": "ordinal", "range": [0, 4], "outside": outside},
                {
                    "name": "income",
                    "kind": "ordinal",
                    "edges": [0, 10, 20.5, 40],
                    "outside": outside,
                },
                {
                    "name": "job",
                    "kind": "nominal",
                    "values": ["clerk", "boss", "farmer"],
                    "outside": "drop" if outside == "clip" else outside,
                },
            ],
        }
    )


def counted(data: Any, schema: Schema) -> Counter[int]:
    found = count_table(data, schema)
    return Counter(dict(zip(found.codes.tolist(), found.counts.tolist(), strict=True)))


def changed(one: Counter[int], other: Counter[int]) -> Counter[int]:
    """By how much each cell differs, where it does."""
    return Counter({k: abs(one[k] - other[k]) for k in one | other if one[k] != other[k]})


def table_with(row: bytes, place: int, newline: bytes = b"\n") -> bytes:
    lines = [HEADER, *PEOPLE]
    lines.insert(place, row)
    return newline.join(lines) + newline


def check_rows(rows: list[bytes], schema: Schema, folder: Path) -> int:
    """Put each row among the people: at most one cell changes, by one; returns how many moved."""
    path, moved = folder / "t.csv", 0
    path.write_bytes(b"\n".join([HEADER, *PEOPLE]) + b"\n")
    plain = counted(path, schema)
    assert plain.total() == len(PEOPLE)
    for number, row in enumerate(rows):
        place = (1, len(PEOPLE) // 2, len(PEOPLE) + 1)[number % 3]
        path.write_bytes(table_with(row, place))
        difference = changed(plain, counted(path, schema))
        assert difference.total() <= 1, (row[:80], place, difference)
        moved += difference.total()
    return moved


def test_an_odd_row_of_a_csv_file(schema: Schema, tmp_path: Path, size: Size, tally: Tally) -> None:
    rows = odd_rows()
    tried = size(15, len(rows), 60)
    chosen = rows if tried == len(rows) else random.Random(repr(schema)).sample(rows, tried)
    chosen = [*chosen, b"1,15,clerk", b'1,15,"clerk']
    moved = check_rows(chosen, schema, tmp_path)
    assert 0 < moved < len(chosen)  # some count and some do not
    tally("odd rows", len(chosen))


def test_rows_of_hostile_pieces(schema: Schema, tmp_path: Path, size: Size, tally: Tally) -> None:
    chance = random.Random(f"{schema} {size(0, 1)}")
    rows = [random_row(chance) for _ in range(size(8, 500))]
    check_rows(rows, schema, tmp_path)
    tally("odd rows", len(rows))


@pytest.mark.parametrize("row", [b"1\r2,15,clerk", b"1,15,clerk\r", b"\r", b'"1\r2",15,clerk'])
def test_a_bare_carriage_return(schema: Schema, tmp_path: Path, row: bytes, tally: Tally) -> None:
    check_rows([row], schema, tmp_path)
    tally("odd rows", 1)


@pytest.mark.parametrize(
    "labels",
    [
        ("007", "008"),
        ("1.50", "2.50"),
        ("1:02:03", "1:02:04"),
        ("2024-1-31", "2024-2-1"),
        ("TRUE", "FALSE"),
        ("12345678901234567890123", "12345678901234567890124"),
    ],
    ids=" ".join,
)
def test_labels_that_look_like_another_type_stay_as_they_are(
    labels: tuple[str, str], tmp_path: Path, tally: Tally
) -> None:
    """Whether or not an odd row is among them: read as numbers or dates they would be others."""
    job = {"name": "job", "kind": "nominal", "values": list(labels)}
    schema = Schema.from_dict({"name": "t", "budget": "1", "attribute": [job]})
    people = "".join(f"{label}\n" for label in labels) * 20
    for rows in (people, f"x\n{people}", f'{people}"\n'):
        (tmp_path / "t.csv").write_text("job\n" + rows)
        assert counted(tmp_path / "t.csv", schema) == {0: 20, 1: 20}
    tally("odd rows", 2)


def test_a_value_of_another_type_far_down_a_file(
    schema: Schema, tmp_path: Path, size: Size
) -> None:
    """Beyond any sample that a reader might guess types from."""
    copies = size(600, 3000)
    people = (b"\n".join(PEOPLE) + b"\n") * copies
    path = tmp_path / "t.csv"
    path.write_bytes(HEADER + b"\n" + people)
    plain = counted(path, schema)
    assert plain.total() == copies * len(PEOPLE)
    for value in (b"x", b'"', b"2024-01-31", b"1.5", b"1e400")[: size(2, 5)]:
        path.write_bytes(HEADER + b"\n" + people + value + b",15,clerk\n")
        assert changed(plain, counted(path, schema)).total() <= 1, value


def test_a_file_longer_than_the_buffers_of_its_reader(
    schema: Schema, tmp_path: Path, size: Size, tally: Tally
) -> None:
    """The engine reads 32 MB at a time: wherever that ends, every line counts as in a short file.

    Lines of many lengths, odd ones among them; each run starts a byte further on.
    """
    odd = [b"", b"1", b'"', b'1,15,"clerk', b"1,15,clerk,9", b'"2","5","boss"', b'1,15,"a""b"']
    lines = [*PEOPLE, *odd, "1,15,é".encode()]
    path = tmp_path / "t.csv"
    path.write_bytes(HEADER + b"\n" + b"\n".join(lines) + b"\n")
    once = counted(path, schema)
    body = b"\n".join(lines) + b"\n"
    copies = size(200, 34_000_000 // len(body))
    for shift in range(size(1, 3)):
        path.write_bytes(HEADER + b" " * shift + b"\n" + body * copies)
        assert counted(path, schema) == Counter({cell: n * copies for cell, n in once.items()})
    tally("odd rows", len(odd) * copies)


@pytest.mark.parametrize("row", [b'"1,15,clerk', b"\xff,\0," + b"9" * 400])
def test_the_exit_code_is_the_same(
    row: bytes, schema: Schema, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema.save(tmp_path / "s.toml")
    codes = []
    for name, lines in (("plain", [HEADER, *PEOPLE]), ("odd", [HEADER, *PEOPLE, row])):
        (tmp_path / f"{name}.csv").write_bytes(b"\n".join(lines) + b"\n")
        words = ["publish", f"{tmp_path}/{name}.csv", "-s", f"{tmp_path}/s.toml", "-e", "0.1"]
        monkeypatch.setattr(sys, "argv", ["hush", *words, "-o", f"{tmp_path}/{name}.release"])
        with pytest.raises(SystemExit) as stopped:
            run()
        codes.append(stopped.value.code)
    assert codes == [0, 0]


def test_a_row_that_changes_two_cells_would_be_noticed(schema: Schema, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        check_rows([b"1,15,clerk\n2,5,boss"], schema, tmp_path)

"""Tables of numbers in text: separators, comments, a header row and an index column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockcalc
from blockcalc.files.sheets import SHEETS, Names, Sheet
from blockcalc.files.tensors import listed_tensors, tensors
from blockcalc.nn.spec import Spec
from blockcalc.reading.load import load
from blockcalc.views.errors import report
from tests.helpers import caught, cli, text

W = [[1.5, -2, 3e-7], [0, 0.25, 4]]


def sheet(folder: Path, body: str | bytes, name: str = "m.csv") -> Path:
    path = folder / name
    path.write_bytes(body if isinstance(body, bytes) else body.encode())
    return path


def loaded(folder: Path, body: str | bytes, more: str = "", name: str = "m.csv") -> Spec:
    """Read a table as x and as a given output, from a file beside it."""
    sheet(folder, body, name)
    form = ", ".join(part for part in (f"file: {name}", more) if part)
    path = folder / "a.yaml"
    path.write_text(f"x: {{{form}}}\nattn: {{out: {{{form}}}}}\n")
    return load(path)


def numbers(folder: Path, body: str | bytes, more: str = "", name: str = "m.csv") -> Any:
    return loaded(folder, body, more, name).arrays["x"].tolist()


def refused(folder: Path, body: str | bytes, more: str = "", name: str = "m.csv") -> str:
    fault = caught(lambda: loaded(folder, body, more, name)).faults[0]
    _, _, rest = fault.message.partition(name)
    return f"{rest.lstrip(':')} | {fault.hint or ''}"


@pytest.mark.parametrize("ending", SHEETS)
@pytest.mark.parametrize(
    "body",
    [
        "1.5,-2,3e-7\n0,.25,4.\n",
        "1.5, -2, 3e-7\n0 , .25 ,4\n",
        "1.5;-2;3e-7\n0;.25;4",
        "1.5\t-2\t3e-7\n0\t.25\t4\n",
        "1.5 -2 3e-7\n0 .25 4\n",
        "  1.5   -2  3E-07\n    0  .25  +4\n\n\n",
        "1.500000000000000000e+00 -2.000000000000000000e+00 2.999999999999999999e-07\n0 2.5e-1 4e0\n",
        "# a comment, with; signs\n1.5 -2 3e-7 # the first\n  # and more\n\n0 .25 4#the second\n",
        "\ufeff1.5,-2,3e-7\r\n0,.25,4\r\n\r\n",
        "1.5,-2,3e-7\r0,.25,4\r",
        '"1.5","-2","3e-7"\n"0",".25","4"\n',
        '"1.5" "-2"   "3e-7"\n0 .25 4\n',
    ],
)
def test_what_stands_between_columns(body: str, ending: str, tmp_path: Path) -> None:
    assert numbers(tmp_path, body, name=f"m{ending}") == W


@pytest.mark.parametrize("fmt", ["%.18e", "%g", "%8.3f", "%d"])
@pytest.mark.parametrize("delimiter", [" ", "\t", ",", "; ", "    "])
@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (4, 1), (1, 1)])
def test_what_numpy_writes(fmt: str, delimiter: str, shape: Any, tmp_path: Path) -> None:
    own = np.random.RandomState(3).normal(0, 9, shape).round(3)
    np.savetxt(tmp_path / "m.txt", own, fmt, delimiter, header="made by hand", footer="the end")
    body = (tmp_path / "m.txt").read_bytes()
    want = np.loadtxt(tmp_path / "m.txt", delimiter=delimiter.strip() or None, ndmin=2)
    assert numbers(tmp_path, body, name="m.txt") == want.tolist()


@pytest.mark.parametrize("body", ["1\n2\n3\n", "1 2 3\n", "1;2;3", "# v\n\n1\n\n2\n3\n"])
def test_one_column_or_one_row_is_a_vector(body: str, tmp_path: Path) -> None:
    sheet(tmp_path, body, "v.txt")
    data = {"x": [[1, 2, 4]], "attn": {"out": [[0, 0, 0]]},
            "norm1": {"gamma": {"file": str(tmp_path / "v.txt")}}}  # fmt: skip
    assert load(data).arrays["norm1.gamma"].tolist() == [1, 2, 3]


def test_a_table_may_be_turned_and_cut(tmp_path: Path) -> None:
    body = "  a  b c\nt1 1 2 3\nt2 4 5 6\n"
    assert numbers(tmp_path, body, "header: true, index: true, transpose: true, cols: '1:'") == [
        [2, 5],
        [3, 6],
    ]
    spec = loaded(tmp_path, body, "header: true, index: true, rows: ':1'")
    assert spec.arrays["x"].tolist() == [[1, 2, 3]]
    assert spec.origins["x"] == "m.csv, rows :1, without its header row, without its index column"


# a header and an index ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "more"),
    [
        ("a,b,c\n1.5,-2,3e-7\n0,.25,4\n", "header: true"),
        ('"a, b",c,"d ""e"", f"\n1.5,-2,3e-7\n0,.25,4\n', "header: true"),
        ('"a b" c d\n1.5 -2 3e-7\n0 .25 4\n', "header: true"),
        ("0,1,2\n1.5,-2,3e-7\n0,.25,4\n", "header: true"),
        (",a,b,c\n0,1.5,-2,3e-7\n1,0,.25,4\n", "header: true, index: true"),
        (",0,1,2\n0,1.5,-2,3e-7\n1,0,.25,4\n", "header: true, index: true"),
        ("   0 1 2\n0  1.5 -2 3e-7\n1  0 .25 4\n", "header: true, index: true"),
        ('"a" "b" "c"\n"1" 1.5 -2 3e-7\n"2" 0 .25 4\n', "header: true, index: true"),
        ("name;a;b;c\nfirst token;1.5;-2;3e-7\nsecond; 0;.25;4\n", "header: true, index: true"),
        ("\ta\tb\tc\nt1\t1.5\t-2\t3e-7\nt2\t0\t.25\t4\n", "header: true, index: true"),
        ('"t, 1",1.5,-2,3e-7\n"t, 2",0,.25,4\n', "index: true"),
        ("0,1.5,-2,3e-7\n1,0,.25,4\n", "index: true"),
        ("# a comment\n\na,b,c # names\n1.5,-2,3e-7\n0,.25,4\n", "header: true, index: false"),
    ],
)
def test_names_are_left_out(body: str, more: str, tmp_path: Path) -> None:
    assert numbers(tmp_path, body, more) == W


LOOKS = "the table seems to contain names as well as numbers; {} leaves them out"


@pytest.mark.parametrize(
    ("body", "more", "said", "names"),
    [
        ("a,b\n1,2\n", "", "1:1: a number is expected; this is the text 'a'", "header: true"),
        ('1,"a, b"\n1,2\n', "", "1:3: a number is expected; this is the text 'a, b'", "header: true"),
        (",a,b\n0,1,2\n", "", "1:1: a number is expected; this cell is empty", "header: true, index: true"),
        (",0,1\n7,1,2\n", "", "1:1: a number is expected; this cell is empty", "header: true, index: true"),
        (",a,b\nt,1,2\n", "header: true", "2:1: a number is expected; this is the text 't'", "header: true, index: true"),
        (",a,b\nt,1,2\n", "index: true", "1:2: a number is expected; this is the text 'a'", "header: true, index: true"),
        ("id,a,b\n0,1,2\n1,3,4\n2,5,6\n", "", "1:1: a number is expected; this is the text 'id'", "header: true, index: true"),
        ("id,a,b\n5,1,2\n1,3,4\n2,5,6\n", "", "1:1: a number is expected; this is the text 'id'", "header: true"),
        ("t1,1,2\nt2,3,4\n", "", "1:1: a number is expected; this is the text 't1'", "index: true"),
        ("t1 1 2\n", "", "1:1: a number is expected; this is the text 't1'", "index: true"),
        ("a b\nt1 1 2\nt2 3 4\n", "", "2:1: this row has 3 numbers, the first has 2 numbers", "header: true, index: true"),
        ("0 1 2\n0 1 2 3\n1 3 4 5\n", "", "2:1: this row has 4 numbers, the first has 3 numbers", "header: true, index: true"),
        ("a b\nt1 1 2\n", "header: true", "1:1: the header row has 2 names for 3 columns", "header: true, index: true"),
    ],
)  # fmt: skip
def test_names_that_nothing_was_said_of(
    body: str, more: str, said: str, names: str, tmp_path: Path
) -> None:
    assert refused(tmp_path, body, more) == f"{said} | {LOOKS.format(names)}"
    assert numbers(tmp_path, body, names)  # what the hint shows is read


TABLE = "a table has numbers only, with commas, semicolons, tabs or spaces between its columns"


@pytest.mark.parametrize(
    ("body", "more", "said"),
    [
        ("", "", " the file is empty | "),
        ("\n# only\n \t\n", "", " the file is empty | "),
        ("1,2\n3\n", "", "2:1: this row has 1 number, the first has 2 numbers | "),
        ("1,2\n3,x\n", "", f"2:3: a number is expected; this is the text 'x' | {TABLE}"),
        ("a,b\n", "", f"1:1: a number is expected; this is the text 'a' | {TABLE}"),
        ("a,b\nc,d\n", "", f"1:1: a number is expected; this is the text 'a' | {TABLE}"),
        ("1,,3\n", "", f"1:3: a number is expected; this cell is empty | {TABLE}"),
        ("1,2,\n", "", f"1:5: a number is expected; this cell is empty | {TABLE}"),
        ("1\t\t3\n", "", f"1:3: a number is expected; this cell is empty | {TABLE}"),
        ("1,true\n", "", f"1:3: a number is expected; this is the text 'true' | {TABLE}"),
        ("1 nan\n", "", f"1:3: a number is expected; this is the text 'nan' | {TABLE}"),
        ("1 .inf\n", "", f"1:3: a number is expected; this is the text '.inf' | {TABLE}"),
        ("1_0 2\n3 4\n", "", "1:1: a number is expected; this is the text '1_0' | the table seems to contain names as well as numbers; header: true leaves them out"),
        ("1;0,5\n", "", "1:3: a number is expected; this is the text '0,5' | decimals use a point: 0.5, not 0,5"),
        ("1\t0,5\n", "", "1:3: a number is expected; this is the text '0,5' | decimals use a point: 0.5, not 0,5"),
        ('"0,5",1\n', "", "1:1: a number is expected; this is the text '0,5' | decimals use a point: 0.5, not 0,5"),
        ("1,5 2,5\n3,5 4,5\n", "", "1:3: a number is expected; this is the text '5 2' | columns are separated by commas here, not by spaces; decimals use a point: 0.5, not 0,5"),
        ("1;2 3\n", "", "1:3: a number is expected; this is the text '2 3' | columns are separated by semicolons here, not by spaces; decimals use a point: 0.5, not 0,5"),
        ("1\t2 3\n", "", "1:3: a number is expected; this is the text '2 3' | columns are separated by tabs here, not by spaces; decimals use a point: 0.5, not 0,5"),
        ("−1 2\n", "", "1:1: a number is expected; this is the text '−1' | minus sign U+2212: write '-' instead"),
        ("1\u00a0234 2\n", "", "1:2: a number is expected; this is the text '1\u00a0234' | no-break space U+00A0: write a space instead"),
        ("1 2\n\u00a03 4\n", "", "2:1: a number is expected; this is the text '\u00a03' | no-break space U+00A0: write a space instead"),
        ("[[1 2]\n [3 4]]\n", "", f"1:1: a number is expected; this is the text '[[1' | {TABLE}"),
        ("a,b\n", "header: true", "1:1: there is no row of numbers below the header row | "),
        ("1\n2\n", "index: true", "1:1: there is no column of numbers beside the index column | "),
        ("a,b,c\n1,2\n", "header: true", "1:1: the header row has 3 names for 2 columns | "),
        ("a,b,c\n1,2\n", "header: true, index: true", "1:1: the header row has 3 names for 2 columns | "),
    ],
)  # fmt: skip
def test_what_is_refused(body: str, more: str, said: str, tmp_path: Path) -> None:
    assert refused(tmp_path, body, more) == said


@pytest.mark.parametrize("word", ["9" * 400, "9" * 2000, "1e400", "1e-400", "0." + "0" * 400 + "1"])
def test_numbers_beyond_float64(word: str, tmp_path: Path) -> None:
    told = refused(tmp_path, f"1 {word}\n")
    assert told.startswith("1:3: a number is expected; this is the text '")
    assert "float64" in told


def test_encodings_of_a_table(tmp_path: Path) -> None:
    for encoding in ("utf-8-sig", "utf-16"):
        assert numbers(tmp_path, "a;b\n1;2\n".encode(encoding), "header: true") == [[1, 2]]
    assert refused(tmp_path, b"1,2\n3,\xff\n").startswith("2:3: this is not UTF-8 text")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("header: yes", "true or false is expected; this is 'yes'"),
        ("header: 1", "true or false is expected; this is the number 1"),
        ("index: null", "true or false is expected; this is nothing"),
    ],
)
def test_flags_of_a_table(more: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(blockcalc.BlockcalcError, match=said):
        loaded(tmp_path, "1,2\n", more)


@pytest.mark.parametrize("key", ["header", "index"])
def test_other_files_have_no_names(key: str, tmp_path: Path) -> None:
    np.save(tmp_path / "w.npy", np.ones((2, 2)))
    path = tmp_path / "a.yaml"
    path.write_text(
        f"x: {{file: w.npy, {key}: true}}\nattn: {{out: {{file: none.npz, {key}: false}}}}\n"
    )
    with pytest.raises(blockcalc.BlockcalcError) as caught:
        load(path)
    first = caught.value.faults[0]
    assert first.message == f"'{key}' is for tables in text files, .csv, .tsv, .txt, .dat"
    assert first.place is not None
    assert first.place.column == 18


# notes ----------------------------------------------------------------------------------

HEADER = ("The first row of m.csv is {}, read as numbers. If it names the columns, add header: true; "
          "if not, header: false.")  # fmt: skip
INDEX = ("The first column of m.csv is {}, read as numbers. If it names the rows, add index: true; "
         "if not, index: false.")  # fmt: skip


@pytest.mark.parametrize(
    ("body", "more", "remarks"),
    [
        ("0,1,2\n3,4,5\n", "", [HEADER.format("0, 1, 2")]),
        ("0 1 2 3 4 5 6 7 8 9\n" * 2, "", [HEADER.format("0, 1, 2, …")]),
        ("0,1\n.5,2.5\n", "", [HEADER.format("0, 1")]),
        ("0,1\n1,0\n", "", []),
        ("0,1\n1,0\n2,1\n", "", [INDEX.format("0, 1, 2")]),
        ("0,7,5\n1,8,5\n2,9,5\n", "", [INDEX.format("0, 1, 2")]),
        ("0,.5\n1,1.5\n", "", [INDEX.format("0, 1")]),
        ("0,1,2\n1,0,1\n2,1,0\n", "", [HEADER.format("0, 1, 2"), INDEX.format("0, 1, 2")]),
        ("0,1,2\n1,0,1\n2,1,0\n", "header: false, index: false", []),
        ("0,1,2\n3,4,5\n", "header: true", []),
        ("0,1,2\n3,4,5\n", "header: false", []),
        ("1,2,3\n4,5,6\n", "", []),
        ("0.0,1.0,2.0\n4,5,6\n", "", []),
        ("0,1,2\n", "", []),
        ("0\n1\n2\n", "", []),
        ("a,b\n0,5\n1,6\n2,7\n", "header: true", [INDEX.format("0, 1, 2")]),
        ("a,b\n0,5\n1,6\n2,7\n", "header: true, index: false", []),
        (",b\n3,5\n1,6\n2,7\n", "header: true", [INDEX.format("3, 1, 2")]),
        ("t,0,1,2\nu,3,4,5\n", "index: true", [HEADER.format("0, 1, 2")]),
        ("5,6\n1,2\n", "header: true", []),
        ("1,0\n1,2\n", "header: true", ["The header row of m.csv, 1, 0, is all numbers, and is left out."]),
        ("0.5,1\n1,2\n", "header: true", ["The header row of m.csv, 0.5, 1, is all numbers, and is left out."]),
        ("a,1\nb,2\n", "index: true", []),
        ("3,1\n7,2\n", "index: true", []),
        ("0.5,1\n1,2\n", "index: true", ["The index column of m.csv, 0.5, 1, is all numbers, and is left out."]),
    ],
)  # fmt: skip
def test_numbers_that_may_be_names_and_names_that_may_be_numbers(
    body: str, more: str, remarks: list[str], tmp_path: Path
) -> None:
    assert list(loaded(tmp_path, body, more).remarks) == remarks  # once, though two keys name it


def test_a_note_stands_in_the_output(tmp_path: Path) -> None:
    sheet(tmp_path, "0,1,2\n.5,1,2\n")
    (tmp_path / "a.yaml").write_text("x: {file: m.csv}\nattn: {out: {zeros: [2, 3]}}\n")
    said = " ".join(text(cli("run", "a.yaml", cwd=tmp_path)).split())
    assert HEADER.format("0, 1, 2") in said


# the list of a file ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "shape", "told"),
    [
        ("1 2\n3 4\n5 6\n", "3×2", ""),
        (",a,b\n0,1,2\n", "1×2", "with header: true, index: true"),
        ("t1 1 2\nt2 3 4\n", "2×2", "with index: true"),
        ("0,1,2\n3,4,5\n", "2×3", HEADER.format("0, 1, 2")),
    ],
)
def test_the_command_lists_tables(body: str, shape: str, told: str, tmp_path: Path) -> None:
    sheet(tmp_path, body)
    out = text(cli("weights", "m.csv", cwd=tmp_path))
    assert out == f"(the matrix)  {shape}  float64  {told}".rstrip() + "\n"


def test_the_list_refuses_what_is_no_table(tmp_path: Path) -> None:
    for name in ("none.csv", "."):
        with pytest.raises(blockcalc.BlockcalcError):
            listed_tensors(tmp_path / name)
    with pytest.raises(blockcalc.BlockcalcError) as caught:
        tensors(sheet(tmp_path, "a,b\n1,2\n"))
    assert "header: true leaves them out" in report(caught.value)
    assert str(Names(True, True)) == "header: true, index: true"
    assert Sheet(sheet(tmp_path, "1,2\n")).sign == ","

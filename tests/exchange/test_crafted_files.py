"""Files of labels that are crafted, protected or damaged are refused with a reason, at once and in little memory."""

from __future__ import annotations

import tracemalloc
import zipfile
from pathlib import Path

import pytest

from miml_core.errors import BagtagError
from miml_core.exchange.reading import read_labels

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def test_a_small_parquet_file_of_very_many_rows_is_refused(tmp_path: Path) -> None:
    nothing = pa.nulls(10_000_001, pa.string())
    parquet.write_table(pa.table({"file": nothing, "label": nothing}), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 100_000
    table = read_labels([tmp_path / "a.parquet"])
    assert not table.rows and "more than 10,000,000 rows" in table.problems[0].reason


@pytest.mark.parametrize("keeps_schema", [True, False])
def test_a_long_text_that_all_rows_of_a_parquet_file_share_is_one_text(tmp_path: Path, keeps_schema: bool) -> None:
    n = 2000
    one = pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), pa.array(["x" * 200_000]))
    content = pa.table({"file": ["a.wav"] * n, "start_s": [1.0] * n, "label": one})
    parquet.write_table(content, tmp_path / "a.parquet", store_schema=keeps_schema)
    tracemalloc.start()
    table = read_labels([tmp_path / "a.parquet"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(table.rows) == n
    assert peak < 100e6, "400 MB, if each row had its own"


def test_parquet_that_cannot_be_converted_is_a_problem_of_the_file(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"file": ["a.wav"], "label": ["Wren"]}), tmp_path / "a.parquet")
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    outcomes = set()
    for place in range(8, len(content) - 8, 5):
        damaged = content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :]
        (tmp_path / "b.parquet").write_bytes(damaged)
        table = read_labels([tmp_path / "b.parquet"])  # rows or problems, never an exception of pyarrow
        assert all("b.parquet" in problem.where for problem in table.problems)
        outcomes.add((len(table.rows), bool(table.problems)))
    assert {(1, False), (0, True)} <= outcomes, "some damage does not matter, other makes the file unreadable"


@pytest.mark.parametrize("flag", ["password", "method"])
def test_a_zip_archive_that_cannot_be_unpacked_says_so(tmp_path: Path, flag: str) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("labels.csv", "file,label\na.wav,Wren\n")
    content = bytearray((tmp_path / "a.zip").read_bytes())
    central = content.index(b"PK\x01\x02")
    if flag == "password":
        content[6] |= 1
        content[central + 8] |= 1
    else:
        content[8] = content[central + 10] = 97
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(BagtagError, match=r"cannot be unpacked.*choose the folder"):
        read_labels([tmp_path / "a.zip"])

"""Listing objects: patterns, strange names, and stamps."""

import os
from pathlib import Path

import pytest

from models.errors import SettingsError
from transforms.listing import list_files, reaches_into, stat_file, total_bytes

NAMES = ["a b.txt", "..x.txt", "q?*[x].txt", "line\nbreak.txt", "smörgås 日本.txt", "-rf.txt", "a#b.txt", "b\\s.txt"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / "in" / "sub").mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / "sub" / name).write_text("text")
    return tmp_path / "in"


def names(listing):
    return sorted(file.file.rsplit("/", 1)[1] for file in listing)


@pytest.mark.parametrize("ending", ["", "/", "/**", "/sub/*"])
def test_a_folder_stands_for_all_below_it(folder, ending):
    listing = list_files([f"{folder}{ending}"])
    one_star_takes_no_backslash = {"b\\s.txt"} if ending == "/sub/*" else set()  # Beam's rule, for Windows
    assert set(names(listing)) == set(NAMES) - {"..x.txt"} - one_star_takes_no_backslash
    assert total_bytes(listing) == 4 * len(listing)
    assert [file.file for file in listing] == sorted(file.file for file in listing)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_listed_under_its_very_name(folder, name):
    path = f"{folder}/sub/{name}"
    (listed,) = list_files([path])
    assert (listed.file, listed.size) == (path, 4)
    assert stat_file(path) == listed


def test_a_folder_of_a_strange_name(tmp_path):
    for name in ("a[1]", "a1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.txt").write_text(name)
    (listed,) = list_files([f"{tmp_path}/a[1]"])
    assert listed.file == f"{tmp_path}/a[1]/x.txt"


def test_a_name_that_is_not_utf8_is_listed_with_escapes(tmp_path):
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("text")
    (listed,) = list_files([f"{tmp_path}/"])
    assert listed.file.endswith("caf\\udce9.txt")
    listed.file.encode()


def test_patterns_that_overlap_list_once_and_the_root_is_left_out(folder):
    root = folder / "index"
    root.mkdir()
    (root / "CURRENT.txt").write_text("x")
    listing = list_files([f"{folder}/", f"{folder}/sub/*.txt"], exclude=str(root))
    assert names(listing) == sorted(set(names(listing))) and "CURRENT.txt" not in names(listing)


def test_the_root_is_left_out_by_whichever_name_it_goes(tmp_path):
    root = tmp_path / "data" / "root"
    (root / "documents").mkdir(parents=True)
    (root / "documents" / "a.parquet").write_text("x")
    (tmp_path / "data" / "mine.txt").write_text("x")
    (tmp_path / "data" / "root2").mkdir()
    (tmp_path / "data" / "root2" / "mine too.txt").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "data")
    (tmp_path / "rootlink").symlink_to(root)
    for pattern in ("data/", "data/**", "link/", "link/**"):
        for name in (root, tmp_path / "rootlink", tmp_path / "link" / "root"):
            assert names(list_files([f"{tmp_path}/{pattern}"], exclude=str(name))) == ["mine too.txt", "mine.txt"]
            assert reaches_into([f"{tmp_path}/{pattern}"], str(name))
    assert reaches_into([f"{root}/documents/*"], str(root))
    assert not reaches_into([f"{tmp_path}/data/*.txt", f"{tmp_path}/data/root2/**", "gs://b/**"], str(root))


def test_hidden_files_are_listed_where_a_pattern_spells_them_out(tmp_path):
    for name in (".hidden.txt", "_meta.txt", "seen.txt"):
        (tmp_path / name).write_text("x")
    assert names(list_files([f"{tmp_path}/*"])) == ["seen.txt"]
    assert names(list_files([f"{tmp_path}/.*"])) == [".hidden.txt"]
    assert names(list_files([f"{tmp_path}/_*.txt"])) == ["_meta.txt"]


def test_a_young_stamp_is_not_trusted(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("x")
    os.utime(path, (1000, 1000))
    assert [f.trusted for f in list_files([str(path)], now=1001.9)] == [False]
    assert [f.trusted for f in list_files([str(path)], now=1002.0)] == [True]
    assert [f.trusted for f in list_files([str(path)], now=900.0)] == [False]


def test_what_cannot_be_listed_is_a_settings_error():
    with pytest.raises(SettingsError, match=r"input = 'nosuch://bucket/\*' cannot be listed"):
        list_files(["nosuch://bucket/*"])


def test_nothing_there_is_nothing_listed(tmp_path):
    assert list_files([f"{tmp_path}/none/*.txt", f"{tmp_path}/none/"]) == []
    assert stat_file(f"{tmp_path}/none") is None


def test_hidden_folders_and_files_are_left_out_unless_spelt_out(tmp_path):
    for name in (".git/x.txt", "_temporary/y.txt", ".h.txt", "_SUCCESS", "a/.b/c.txt", "a/ok.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")
    listed = [file.file for file in list_files([f"{tmp_path}/**"])]
    assert listed == [f"{tmp_path}/a/ok.txt"] == [file.file for file in list_files([f"{tmp_path}/"])]
    assert [file.file for file in list_files([f"{tmp_path}/.git/*"])] == [f"{tmp_path}/.git/x.txt"]
    hidden = tmp_path / ".corpus"
    hidden.mkdir()
    (hidden / "z.txt").write_text("text")
    assert [file.file for file in list_files([str(hidden)])] == [f"{hidden}/z.txt"]


def test_a_link_to_nothing_is_listed(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "good.txt").write_text("text")
    (tmp_path / "sub" / "dangling.txt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "sub" / "dangling.md").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    listed = [file.file for file in list_files([f"{tmp_path}/**.txt"])]
    assert listed == [f"{tmp_path}/good.txt", f"{tmp_path}/sub/dangling.txt"]
    assert f"{tmp_path}/loop" in [file.file for file in list_files([f"{tmp_path}/"])]

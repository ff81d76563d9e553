"""Whole runs: what is paid for, what is found, and what stays as it was. Each test is one life of a small corpus."""

import json
import os
import shutil

import pytest
from mill import prose

from models.errors import RefusedError, SettingsError
from models.fakes import HashingEncoder


def test_unchanged_corpus_encodes_nothing_and_publishes_nothing(turned):
    before = turned.manifest().version
    report = turned.run()
    assert (report.version, report.published) == (before, False)
    assert report.documents["unchanged"] == report.documents["listed"] == 8
    assert report.units["encoded"] == 0


def test_each_run_states_what_was_over_the_limit(mill):
    nothing = {"units": 0, "inputs": 0, "share": 0.0}
    mill.write("long.txt", "word " * 60)
    assert mill.run(window_tokens=None).over_limit == nothing
    mill.settings = {"max_input_tokens": 30, "window_tokens": 60, "budget_tokenizer": "tiktoken:cl100k_base"}
    over = mill.run(accept_recipe_change=True).over_limit
    assert over["units"] >= 1 and 0 < over["share"] <= 1
    assert mill.run().over_limit == nothing


def test_reading_everything_again_encodes_nothing(turned):
    report = turned.run(full=True)
    assert report.documents["unchanged"] == 8
    assert report.units["encoded"] == report.units["removed"] == 0


def test_touched_file_is_read_and_encodes_nothing(turned):
    turned.stamp("doc1.md")
    report = turned.run()
    assert (report.documents["unchanged"], report.units["encoded"]) == (8, 0)
    assert not report.published


def test_a_run_right_after_an_edit_publishes_once(turned):
    path = turned.write("doc1.md", "edited")
    os.utime(path)  # too young to be trusted
    versions = {turned.run().version for _ in range(2)}
    turned.stamp("doc1.md")  # read again, and it is as it was
    report = turned.run()
    assert (report.published, versions) == (False, {report.version})
    assert (report.documents["listed"], report.documents["unchanged"]) == (8, 8)


def test_young_stamp_is_not_trusted(turned):
    path = turned.source / "doc1.md"
    os.utime(path)
    turned.run()
    stamp = path.stat().st_mtime
    path.write_text(path.read_text().replace("d1word5", "d1wordX"))
    os.utime(path, (stamp, stamp))
    assert turned.run().documents["indexed"] == 1


def test_edit_reencodes_only_units_whose_text_changed(turned):
    path = turned.source / "doc2.md"
    text = path.read_text().replace("d2word100", "quagga")
    turned.write("doc2.md", text)
    report = turned.run()
    assert report.documents["indexed"] == 1
    assert 1 <= report.units["encoded"] <= 2 < report.units["reused"] + report.units["encoded"]
    hit = turned.search("d2word98 d2word99 quagga d2word101 d2word102 d2word103")[0]
    assert "quagga" in hit.text and text[hit.start : hit.end] == hit.text


def test_rename_and_copy_embed_nothing(turned):
    os.rename(turned.source / "doc3.md", turned.source / "renamed.md")
    shutil.copy(turned.source / "doc4.md", turned.source / "copy.md")
    report = turned.run()
    assert report.documents["indexed"] == 2 and report.documents["deleted"] == 1
    assert report.units["encoded"] == report.units["removed"] == 0
    hit = turned.search("d4word3 d4word4")[0]
    assert [uri.rsplit("/", 1)[1] for uri in hit.uris] == ["copy.md", "doc4.md"]
    assert turned.search("d3word3 d3word4")[0].uri.endswith("renamed.md")


def test_shrinking_document_leaves_no_stale_unit(turned):
    turned.write("doc5.md", "# Document 5\n\nshort now\n")
    turned.run()
    assert not turned.finds("d5word50 d5word51", "d5word50")
    turned.write("doc5.md", "  \n")
    report = turned.run()
    assert report.documents["empty"] == 1
    assert not turned.finds("short now", "short now")
    os.remove(turned.source / "doc5.md")
    report = turned.run()
    assert report.documents["deleted"] == 1
    assert sorted(row["uri"][-7:] for row in turned.rows("documents")) == [
        f"oc{n}.md"[-7:].rjust(7, "d") for n in (0, 1, 2, 3, 4, 6, 7)
    ]


def test_bom_and_crlf_twin_embeds_nothing(turned):
    text = (turned.source / "doc6.md").read_text()
    turned.write("doc6.md", b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    report = turned.run()
    assert (report.documents["unchanged"], report.units["encoded"]) == (8, 0)


def test_blank_documents_are_counted_and_not_encoded(mill):
    mill.write("empty.txt", "")
    mill.write("blank.txt", " \n\t\n")
    mill.write("one.txt", "One sentence.")
    report = mill.run()
    assert (report.documents["empty"], report.documents["indexed"], report.units["encoded"]) == (2, 1, 1)
    assert not mill.run().published


def test_known_document_that_breaks_keeps_its_last_good_content(turned):
    turned.write("doc7.md", b"\xff\xfe\x00\xd8" * 3)
    report = turned.run(max_failures="20%")
    assert (report.documents["failed"], report.documents["stale"]) == (1, 1)
    assert turned.finds("d7word3 d7word4", "d7word3")
    (row,) = turned.rows("failures")
    assert row["stale"] and row["stage"] == "read" and row["uri"].endswith("doc7.md")
    again = turned.run(max_failures="20%")
    assert (again.documents["failed"], again.published, again.version) == (1, False, report.version)
    turned.write("doc7.md", f"# Document 7\n\n{prose('d7')}\n")
    report = turned.run()
    assert (report.documents["unchanged"], report.units["encoded"]) == (8, 0)


def test_one_bad_document_costs_one_dead_letter(mill):
    mill.write("good.md", prose("good"))
    mill.write("broken.pdf", b"%PDF-1.7 nonsense")
    mill.write("unknown.xyz", "what is this")
    mill.write(
        "rows.jsonl",
        '{"id": "a", "text": "first row"}\n{"id": \n{"id": "b", "text": null}\n{"id": "a", "text": "again"}\n',
    )
    report = mill.run(max_failures="5")
    assert report.documents | {"deleted": 0} == {
        "listed": 7, "indexed": 2, "unchanged": 0, "empty": 0, "failed": 5, "deleted": 0, "stale": 0,
    }  # fmt: skip
    assert {row["reason"] for row in mill.rows("failures")} >= {"broken_pdf", "unknown_format", "duplicate_id"}


def test_too_many_failures_publish_nothing(turned):
    before = turned.manifest()
    turned.write("bad1.pdf", b"nonsense")
    with pytest.raises(RefusedError, match=r"1 of 9 documents failed, over max_failures = 5%.*broken_pdf"):
        turned.run()
    assert turned.manifest() == before


def test_listing_that_lacks_a_quarter_stops(turned):
    for number in (0, 1):
        os.remove(turned.source / f"doc{number}.md")
    turned.write("new.md", prose("new"))
    with pytest.raises(RefusedError, match=r"2 of 8 known documents vanished, over max_delete_share = 20%"):
        turned.run()
    assert turned.finds("d0word3", "d0word3")
    assert turned.run(accept_deletes=True).documents["deleted"] == 2


def test_empty_listing_and_wrong_folder_stop_and_a_mass_rename_does_not(turned, monkeypatch):
    calls = []
    encode = HashingEncoder.encode
    monkeypatch.setattr(HashingEncoder, "encode", lambda self, texts: calls.append(len(texts)) or encode(self, texts))
    for number in range(8):
        os.rename(turned.source / f"doc{number}.md", turned.base / f"doc{number}.md")
    with pytest.raises(RefusedError, match="8 of 8 known documents vanished"):
        turned.run()
    for number in range(8):
        turned.write(f"other{number}.md", prose(f"other{number}"))
    with pytest.raises(RefusedError, match="8 of 8 known documents vanished"):
        turned.run()
    assert not calls
    for number in range(8):
        os.remove(turned.source / f"other{number}.md")
        os.rename(turned.base / f"doc{number}.md", turned.source / f"moved{number}.md")
    report = turned.run()
    assert (report.documents["indexed"], report.documents["deleted"], report.units["encoded"]) == (8, 8, 0)


def test_failed_update_leaves_the_old_version_and_the_next_run_repairs(turned, monkeypatch):
    turned.write("doc1.md", f"# Document 1\n\n{prose('fresh')}\n")

    def broken(self, texts):
        raise RuntimeError("the device fell off the bus")

    with monkeypatch.context() as patch:
        patch.setattr(HashingEncoder, "encode", broken)
        with pytest.raises(RefusedError, match="the device fell off the bus; the old version is still current"):
            turned.run()
    assert turned.finds("d1word3", "d1word3")
    assert turned.run().documents["indexed"] == 1
    assert turned.finds("freshword3", "freshword3") and not turned.finds("d1word3", "d1word3")


def test_first_ingest_that_fails_is_repeated(mill, monkeypatch):
    mill.write("doc.md", prose("doc"))

    def broken(self, texts):
        raise RuntimeError("no")

    with monkeypatch.context() as patch:
        patch.setattr(HashingEncoder, "encode", broken)
        with pytest.raises(RefusedError, match="Run again to go on"):
            mill.run()
    assert mill.run().documents["indexed"] == 1


def test_changed_rows_of_a_table_are_stored_and_encoded_alone(mill):
    def rows(changed: dict[int, str], count: int = 200) -> str:
        return "".join(
            json.dumps({"id": number, "text": changed.get(number, f"row {number} of the table"), "tag": "x"}) + "\n"
            for number in range(count)
        )

    mill.write("rows.jsonl", rows({}))
    assert mill.run().documents["indexed"] == 200
    mill.write("rows.jsonl", rows({7: "another text for seven"}, 199))
    report = mill.run()
    assert (report.documents["indexed"], report.documents["unchanged"], report.documents["deleted"]) == (1, 198, 1)
    assert (report.units["encoded"], report.units["removed"]) == (1, 2)
    (snapshots,) = (shard.snapshots for shard in mill.manifest().shards)
    assert [entry.n_rows for entry in snapshots] == [200, 1]
    hit = mill.search("another text for seven", 1)[0]
    assert hit.uri.endswith("rows.jsonl#7")


def test_ids_alone_survive_renamed_part_files(mill):
    mill.settings = {"id_scope": "corpus"}
    mill.write("part-a.jsonl", "".join(json.dumps({"id": f"n{n}", "text": f"text {n} here"}) + "\n" for n in range(20)))
    mill.run()
    os.rename(mill.source / "part-a.jsonl", mill.source / "part-b.jsonl")
    report = mill.run()
    assert (report.documents["unchanged"], report.documents["deleted"], report.units["encoded"]) == (20, 0, 0)
    assert mill.search("text 3 here", 1)[0].uri.startswith("n")


def test_metadata_alone_is_updated_without_encoding(mill):
    mill.write("rows.jsonl", '{"id": "a", "text": "same text", "owner": "north"}\n')
    mill.run()
    mill.write("rows.jsonl", '{"id": "a", "text": "same text", "owner": "south"}\n')
    report = mill.run()
    assert (report.documents["unchanged"], report.units["encoded"]) == (1, 0)
    assert json.loads(mill.rows("documents")[0]["metadata"])["owner"] == "south"


CHANGES = {
    "window": ({"window_tokens": 25}, {"cut", "encode", "fill"}),
    "encoder": ({"hashing_dimension": 32}, {"encode", "fill"}),
    "index": ({"min_ivf_units": 10_000}, {"fill"}),
    "nothing that makes anything": ({"nprobe": 3, "batch_tokens": 99}, set()),
}


@pytest.mark.parametrize("name", CHANGES)
def test_one_changed_setting_reruns_the_stages_below_it_and_no_other(turned, monkeypatch, name):
    from transforms.chunking import Cutter
    from transforms.stages import reading, writing

    changed, expected = CHANGES[name]
    ran: set[str] = set()

    def spy(owner, method, stage):
        real = getattr(owner, method)

        def call(*args, **kwargs):
            ran.add(stage)
            return real(*args, **kwargs)

        monkeypatch.setattr(owner, method, call)

    spy(Cutter, "dialogue", "cut")
    spy(HashingEncoder, "encode", "encode")
    spy(writing, "fill_shard", "fill")
    spy(reading, "read_item", "read")
    report = turned.run(**changed, accept_recipe_change=True)
    assert ran == expected
    assert report.published == bool(expected)
    recipes = {row["recipe"] for row in turned.rows("units")}
    assert len(recipes) == 1


def test_recipe_change_asks_first(turned):
    with pytest.raises(
        SettingsError, match=r"the cut recipe changed \(window_tokens was \d+, is 25\): up to \d+ of \d+ stored"
    ):
        turned.run(window_tokens=25)


def test_planted_sentence_comes_and_goes_with_its_versions(turned):
    from transforms.context import open_store
    from transforms.store.versions import rollback

    without = turned.manifest().version
    text = (turned.source / "doc0.md").read_text() + "\nThe axolotl sleeps in pump house seven.\n"
    turned.write("doc0.md", text)
    with_it = turned.run().version
    hit = next(hit for hit in turned.search("axolotl pump house seven") if "axolotl" in hit.text)
    assert text[hit.start : hit.end] == hit.text and hit.uri.endswith("doc0.md") and hit.heading_path == ("Document 0",)
    turned.write("doc0.md", text.replace("axolotl", "heron"))
    turned.run()
    assert not turned.finds("axolotl", "axolotl")
    rollback(open_store(turned.root), with_it)
    assert turned.finds("axolotl", "axolotl")
    rollback(open_store(turned.root), without)
    assert not turned.finds("axolotl", "axolotl")


def test_two_bundles_of_everything_give_the_same_files(turned, tmp_path):
    from mill import Mill

    twin = Mill(tmp_path / "twin")
    shutil.copytree(turned.source, twin.source)
    twin.settings = {"input": [f"{turned.source}/**"]}
    twin.run(["--runner=FnApiRunner", "--direct_runner_bundle_repeat=1"])
    ours, theirs = turned.manifest(), twin.manifest()
    assert (ours.shards, ours.document_shards) == (theirs.shards, theirs.document_shards)


def test_ledger_accounts_every_document_and_sums_to_the_report(turned):
    rows, report = turned.rows("ledger"), turned.manifest()
    assert {row["stage"] for row in rows} == {"read", "cut", "encode", "index"}
    assert len({row["uri"] for row in rows if row["stage"] == "cut"}) == 8
    assert sum(row["n_tokens"] for row in rows if row["stage"] == "encode") == report.tokens["encoded"]


def test_codes_that_do_not_fit_the_vectors_are_refused_before_anything_is_read(mill):
    mill.write("doc.md", prose(1))
    with pytest.raises(SettingsError, match="pq_bytes = 48 does not divide the vectors'"):
        mill.run(pq_bytes=48)
    assert not os.path.exists(f"{mill.root}/runs")


def test_small_corpus_is_flat_and_says_so(turned):
    manifest = turned.manifest()
    assert manifest.training is None
    assert {shard.index_kind for shard in manifest.shards} == {"flat"}
    assert manifest.gates.recall_at_10 == 1.0


def test_hostile_names_are_documents_like_any_other(mill):
    names = [
        "a b.txt",
        "..hidden-not.txt",
        "q?*[x].txt",
        "line\nbreak.txt",
        "smörgås 日本.txt",
        "-rf.txt",
        "a#b.txt",
        "%2e%2e.txt",
    ]
    for number, name in enumerate(names):
        mill.write(name, f"text of number {number} stands here")
    report = mill.run()
    assert report.documents["failed"] == 0
    assert report.documents["indexed"] == len(names) - 1  # a name that starts with a dot is hidden
    assert not mill.run().published

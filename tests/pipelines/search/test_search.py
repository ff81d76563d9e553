"""Questions against versions built by hand: the right units, exact places, and nothing from a damaged file."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from models.errors import DamagedFileError, ModelError, SettingsError, StoreError
from models.settings import EncoderSettings
from pipelines.search import open_index
from transforms.indexing.searching import exact_search
from transforms.store.versions import rollback

KINDS = [("flat", 1), ("flat", 3), ("ivfpq", 1), ("ivfpq", 3)]


def exact_unit_ids(builder, texts, questions, k):
    units = builder.units(texts)
    ids = np.array([unit["vector_id"] for unit in units])
    names = {unit["vector_id"]: unit["unit_id"] for unit in units}
    queries = builder.encoder.encode_queries(questions).vectors.astype(np.float32)
    best = exact_search(ids, builder.vectors(units), queries, k)
    return [[names[number] for number in row] for row in best.ids.tolist()], best.scores.tolist()


@pytest.mark.parametrize(("kind", "n_shards"), KINDS)
def test_search_is_exact_search_over_the_live_units(kind, n_shards, builder, corpus):
    builder = builder(kind, n_shards)
    manifest = builder.publish("v1", corpus, dead=["line0 dead dead", corpus["doc005.txt"], "line3 word1 dead"])
    assert {shard.index_kind for shard in manifest.shards} == {kind}
    questions = ["line7 word3 word9", "word1 word2 word2", "line0 dead dead", *(f"line{n}" for n in range(70))]
    found = open_index(builder.store.root).search(questions, k=7)
    wanted_ids, wanted_scores = exact_unit_ids(builder, corpus, questions, 7)
    assert [[hit.unit_id for hit in hits] for hits in found] == wanted_ids
    assert [[hit.score for hit in hits] for hits in found] == wanted_scores


@pytest.mark.parametrize(("kind", "n_shards"), KINDS)
def test_a_hit_says_exactly_where_it_stands(kind, n_shards, builder, corpus):
    builder = builder(kind, n_shards)
    builder.publish("v1", corpus)
    for n in (0, 59, 359):
        uri = f"doc{n // 3:03d}.txt"
        ((best, *_),) = open_index(builder.store.root).search([corpus[uri].split("\n")[n % 3]], k=2)
        assert (best.uri, best.uris, best.metadata) == (uri, (uri,), {"from": uri})
        assert corpus[uri][best.start : best.end] == best.text
        assert best.text.split()[0] == f"line{n}"
        assert best.heading_path == ("Title", f"line{n}")
        assert best.score == pytest.approx(1, abs=1e-3)


def test_copies_are_one_hit_under_the_smallest_uri(builder):
    builder = builder()
    texts = {"z.txt": "apple pie", "bare b.txt": "apple pie", "c.txt": "apple pie", "d.txt": "pear", "empty.txt": ""}
    builder.publish("v1", texts)
    first, second = open_index(builder.store.root).search(["apple pie"], k=10)[0]
    assert (first.uri, first.uris, first.metadata) == ("bare b.txt", ("bare b.txt", "c.txt", "z.txt"), {})
    assert second.uris == ("d.txt",)


def test_equal_scores_come_in_the_order_of_their_ids(builder):
    builder = builder(n_shards=2)
    texts = {f"{n}.txt": f"same words\nother{n}" for n in range(30)}
    builder.publish("v1", texts)
    hits = open_index(builder.store.root).search(["same words"], k=20)[0]
    same = sorted(unit["unit_id"] for unit in builder.units(texts) if unit["text"] == "same words")
    assert [hit.unit_id for hit in hits] == same[:20]


def test_batches_do_not_show(builder, corpus):
    builder = builder("ivfpq", 2)
    builder.publish("v1", corpus)
    index = open_index(builder.store.root)
    questions = [f"word{n} word{n + 1}" for n in range(70)]
    assert index.search(questions) == [index.search([question])[0] for question in questions]
    assert index.outcomes["queries"] == 140


def test_a_question_over_the_limit_is_counted(builder):
    builder = builder()
    builder.publish("v1", {"a.txt": "apple"})
    index = open_index(builder.store.root)
    index.search(["word " * 5000, "apple"])
    assert dict(index.outcomes) == {"queries": 2, "queries_over_limit": 1, "matched": 2, "served": 2}


def test_an_open_index_stays_on_its_version(builder):
    builder = builder()
    builder.publish("v1", {"a.txt": "apple"})
    old = open_index(builder.store.root)
    builder.publish("v2", {"a.txt": "pear"})
    assert [hit.text for hit in old.search(["apple"])[0]] == ["apple"]
    assert [hit.text for hit in open_index(builder.store.root).search(["apple"])[0]] == ["pear"]
    assert [hit.text for hit in open_index(builder.store.root, "v1").search(["apple"])[0]] == ["apple"]
    rollback(builder.store, "v1")
    assert open_index(builder.store.root).version == "v1"


def test_nothing_there_to_search(builder, tmp_path):
    builder = builder()
    with pytest.raises(StoreError, match=r"no index in .*root; `corpusmill ingest --output` makes one"):
        open_index(builder.store.root)
    builder.publish("v1", {"empty.txt": ""})
    assert open_index(builder.store.root).search(["a", "b"]) == [[], []]
    with pytest.raises(StoreError, match="no version v9"):
        open_index(builder.store.root, "v9")


@pytest.mark.parametrize(
    ("texts", "k", "message"), [(["a"], 0, "k = 0 must be at least 1"), ("a", 1, r"search\(\[text\]\)")]
)
def test_questions_that_make_no_sense(texts, k, message, builder):
    builder = builder()
    builder.publish("v1", {"a.txt": "apple"})
    index = open_index(builder.store.root)
    assert index.search([]) == []
    with pytest.raises(SettingsError, match=message):
        index.search(texts, k)


def test_another_encoder_is_refused(builder):
    builder = builder()
    builder.publish("v1", {"a.txt": "apple"})
    other = EncoderSettings(encoder="hashing", hashing_dimension=64)
    with pytest.raises(ModelError, match=r"'hashing' is not the one that made version v1, 'hashing' \(.*32 != 64"):
        open_index(builder.store.root, encoder_settings=other)


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("kind", ["flat", "ivfpq"])
@pytest.mark.parametrize("folder", ["indexes", "contents", "documents", "units", "vectors", "versions", "CURRENT"])
def test_search_serves_nothing_from_a_damaged_file(folder, kind, builder, corpus):
    builder = builder(kind)
    builder.publish("v1", corpus)
    root = Path(builder.store.root)
    paths = [root / folder] if (root / folder).is_file() else sorted(path for path in (root / folder).rglob("*.*"))
    for path in [path for path in paths if path.is_file() and path.suffix != ".sha256"]:
        before = path.read_bytes()
        flip(path, len(before) // 2)
        with pytest.raises((DamagedFileError, StoreError), match=path.name):
            open_index(builder.store.root).search(["line7 word3"], k=3)
        path.write_bytes(before)
    assert open_index(builder.store.root).search(["line7 word3"], k=3)[0]


@pytest.mark.parametrize("folder", ["indexes", "contents", "documents", "units", "vectors"])
def test_a_missing_file_is_named(folder, builder, corpus):
    builder = builder()
    builder.publish("v1", corpus)
    for path in (Path(builder.store.root) / folder).rglob("*.*"):
        path.unlink()
    with pytest.raises(DamagedFileError, match=rf"{folder}/.* is missing"):
        open_index(builder.store.root).search(["line7"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("index", "the index has id .* run `corpusmill verify`"),
        ("units", "has unit .* where id .* should be"),
        ("documents", "no document has content"),
        ("vectors", "which the version lacks"),
    ],
)
def test_files_that_do_not_belong_together_are_refused(change, message, builder, corpus):
    """Every file is sound by its checksum, but one is that of another version."""
    builder = builder()
    other = builder.publish("v1", {uri: text.replace("line", "other") for uri, text in corpus.items()})
    manifest = builder.publish("v2", corpus)
    index = open_index(builder.store.root)
    if change == "documents":
        mixed = msgspec.structs.replace(manifest, document_shards=other.document_shards)
    else:
        values = getattr(other.shards[0], change)
        if change == "units":
            own = manifest.shards[0].units[0]
            values = (msgspec.structs.replace(values[0], path=own.path),)
            Path(builder.store.path(own.path)).write_bytes(
                Path(builder.store.path(other.shards[0].units[0].path)).read_bytes()
            )
        mixed = msgspec.structs.replace(
            manifest, shards=(msgspec.structs.replace(manifest.shards[0], **{change: values}),)
        )
    with pytest.raises(StoreError, match=message):
        type(index)(builder.store, mixed, index._encoder_settings).search(["line7"])


@pytest.mark.parametrize(("kind", "n_shards"), KINDS)
def test_a_search_of_some_documents_is_exact_search_over_those(kind, n_shards, builder, corpus):
    builder = builder(kind, n_shards)
    builder.publish("v1", corpus, dead=["line0 dead dead", corpus["doc005.txt"]])
    some = {uri: text for uri, text in corpus.items() if uri.startswith("doc00")}
    index, questions = open_index(builder.store.root), ["line7 word3 word9", *(f"line{n}" for n in range(70))]
    found = index.search(questions, k=7, uri="doc00*.txt")
    wanted_ids, wanted_scores = exact_unit_ids(builder, some, questions, 7)
    assert [[hit.unit_id for hit in hits] for hits in found] == wanted_ids
    assert [[hit.score for hit in hits] for hits in found] == wanted_scores
    (all_hits,) = index.search(["line7"], k=10_000, uri="doc00*.txt")
    assert {hit.uri for hit in all_hits} == set(some) and len(all_hits) == len(builder.units(some))
    assert index.search(questions, k=3, uri="*") == index.search(questions, k=3)


def test_a_copy_outside_the_searched_documents_is_not_the_hit(builder):
    builder = builder()
    builder.publish("v1", {"a/x.txt": "apple pie", "b/y.txt": "apple pie", "c/z.txt": "pear"})
    index = open_index(builder.store.root)
    (hit,) = index.search(["apple pie"], uri="b/*")[0]
    assert (hit.uri, hit.uris, hit.metadata) == ("b/y.txt", ("a/x.txt", "b/y.txt"), {"from": "b/y.txt"})
    with pytest.raises(SettingsError, match=r"uri = 'y\.txt' matches no document; .*'\*/notes/\*'"):
        index.search(["apple"], uri="y.txt")

"""Contents that a run did not bring are known by the first of their stored addresses, where that one matters."""

import dataclasses

from hand_mill import HandMill

from transforms.addresses import with_addresses
from transforms.records import WorkEntry


def test_the_first_address_of_a_content_counts_where_it_is_wanted(tmp_path):
    mill = HandMill(tmp_path)
    for name, text in (("a", "same"), ("b", "same"), ("c", "other"), ("d", " ")):
        mill.write(f"{name}.txt", text)
    context = mill.run().context
    names = {uri.rsplit("/", 1)[1]: document.content_id for uri, document in mill.documents().items()}
    uris = {name: str(mill.source / name) for name in names}
    context = dataclasses.replace(context, base=mill.manifest().version)
    entries = [WorkEntry(str(names[name]), 0, "cut", "p", 0, 1, 1) for name in ("a.txt", "c.txt")]

    def found(*wanted):
        return [entry.uri for entry in with_addresses(context, entries, frozenset(uris[name] for name in wanted))]

    assert found() == ["", ""] and found("d.txt") == ["", ""]
    assert found("a.txt", "c.txt") == [uris["a.txt"], uris["c.txt"]]
    assert found("b.txt") == ["", ""]  # the text is that of a.txt first

"""Writes the files of the sample corpus that are not plain text: Parquet, PDF, WARC and gzip. Same bytes every time.

Usage: python examples/make_corpus.py [FOLDER]
"""

import gzip
import io
import sys
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ACQUISITIONS = (
    ("A-301", "A tactile atlas of the coast with raised relief maps, bought for the Northgate branch.", 2030, 412.0),
    ("A-302", "Forty audio players with large buttons for readers who cannot hold a telephone.", 2030, 3160.0),
    ("A-303", "The complete tide tables of Aldermoor from 1868 to 1952, with the harbour master's notes.", 2031, 950.0),
    ("A-304", "A digital piano with weighted keys for the music library of the Old Brewery.", 2031, 1890.0),
    ("A-305", "Six laptops that are lent inside the Old Brewery for the programming courses.", 2031, 4200.0),
    ("A-306", "A cold-store grease and spare belts for the returns machine of the central house.", 2032, 140.5),
)

ANNUAL_REPORT = (
    (
        ("Annual report 2031",),
        (
            "In 2031 the five houses and the bookmobile were visited 418,000",
            "times, six per cent more than in the year before. The number of",
            "loans rose to 1,204,000.",
        ),
        (
            "The largest single expense was the new roof of the central house,",
            "which cost 286,000 crowns. The city paid two thirds of it and the",
            "society of friends one third.",
        ),
    ),
    (
        ("Energy",),
        (
            "Solar panels on the Harbour branch produced 41,300 kilowatt hours,",
            "enough to charge the bookmobile for the whole year.",
        ),
        (
            "The target for 2032 is to heat the Old Brewery with the waste heat",
            "of the dairy next door instead of gas.",
        ),
    ),
)

EVACUATION_PLAN = (
    (
        ("Evacuation of the central house",),
        (
            "When the bell rings in three short bursts, everyone leaves by the",
            "nearest staircase. The lifts stop at the ground floor and open.",
        ),
        (
            "The assembly point is the fountain on Quay Street, not the car park:",
            "the fire engines need the car park.",
        ),
    ),
)

PAGES = (
    (
        "https://library.example/news/seed-library",
        "<html><head><title>Seed library</title></head><body><h1>The seed library opens in March</h1>"
        "<p>Take up to five bags of seeds and bring back twice as many in autumn. The bags stand in the last oak "
        "drawer of the old card catalogue, beside the returns machine.</p></body></html>",
    ),
    (
        "https://library.example/news/night-of-reading",
        "<html><head><title>Night of reading</title></head><body><h1>Night of reading</h1>"
        "<p>On the longest night of the year the central house stays open until 02:00. Lamps are lent at the door; "
        "the electric light is switched off at 22:00.</p><ul><li>21:00 ghost stories in the archive</li>"
        "<li>23:00 soup in the reading room</li></ul></body></html>",
    ),
)

NEWSLETTER = """Newsletter of the library, spring edition

The reading room has new chairs. They were made by the apprentices of the shipyard from the planks of the old pier, and
each carries the number of the pile that its wood comes from.

The chess table in the porch is back. The missing white bishop was found in the returns machine.

From April on, reserved items can also be collected from the lockers at the railway station. The lockers are emptied
every night at 23:30; items that were not collected go back to the desk of the central house.
"""


def parquet_bytes() -> bytes:
    """The acquisitions as a table with an id, a text and two more columns."""
    ids, texts, years, prices = zip(*ACQUISITIONS, strict=True)
    table = pa.table({"id": ids, "text": texts, "year": pa.array(years, pa.int32()), "price_crowns": prices})
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def pdf_bytes(pages: tuple[tuple[tuple[str, ...], ...], ...]) -> bytes:
    """A PDF of paragraphs, each a tuple of lines, in Helvetica."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, paragraphs in enumerate(pages):
        content = zlib.compress(_page_content(paragraphs))
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {5 + 2 * number} 0 R"
        objects.append(f"{page} /Resources << /Font << /F1 3 0 R >> >> >>".encode())
        stream = f"<< /Length {len(content)} /Filter /FlateDecode >>\nstream\n".encode()
        objects.append(stream + content + b"\nendstream")
    return _pdf_file(objects)


def _page_content(paragraphs: tuple[tuple[str, ...], ...]) -> bytes:
    lines = ["BT", "/F1 11 Tf", "14 TL", "72 770 Td"]
    for paragraph in paragraphs:
        lines += [f"({_escaped(line)}) Tj T*" for line in paragraph]
        lines.append("0 -14 Td")
    return "\n".join([*lines, "ET"]).encode("cp1252")


def _escaped(line: str) -> str:
    return line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _pdf_file(objects: list[bytes]) -> bytes:
    data = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    entries = b"".join(f"{offset:010d} 00000 n \n".encode() for offset in offsets)
    table = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode() + entries
    trailer = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF\n".encode()
    return data + table + trailer


def warc_bytes() -> bytes:
    """A web archive with one response a page."""
    return b"".join(_warc_record(number, uri, html) for number, (uri, html) in enumerate(PAGES))


def _warc_record(number: int, uri: str, html: str) -> bytes:
    body = html.encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
    payload = head.encode() + body
    fields = {
        "WARC-Type": "response",
        "WARC-Record-ID": f"<urn:uuid:00000000-0000-4000-8000-{number:012d}>",
        "WARC-Date": "2032-02-01T08:00:00Z",
        "WARC-Target-URI": uri,
        "Content-Type": "application/http; msgtype=response",
        "Content-Length": str(len(payload)),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return b"WARC/1.0\r\n" + lines.encode() + b"\r\n" + payload + b"\r\n\r\n"


def main(folder: Path) -> None:
    """Writes the files into `folder`."""
    files = {
        "acquisitions.parquet": parquet_bytes(),
        "annual-report.pdf": pdf_bytes(ANNUAL_REPORT),
        "evacuation-plan.pdf": pdf_bytes(EVACUATION_PLAN),
        "news.warc": warc_bytes(),
        "newsletter.txt.gz": gzip.compress(NEWSLETTER.encode(), mtime=0),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "corpus")

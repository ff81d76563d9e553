"""The least a full run could cost: extract, cut, encode and add to FAISS in one loop, with nothing kept.

python -m benchmarks.bare_loop CORPUS --encoder minilm
"""

import argparse
from pathlib import Path

import numpy as np

from models.encoder import load_encoder
from models.settings import EncoderSettings
from models.tokenizer import load_tokenizer
from transforms.chunking import make_cutter
from transforms.extraction import extract_file
from transforms.settings import ChunkingSettings, ReadingSettings


def index_folder(folder: Path, settings: EncoderSettings) -> int:
    """Index every file below `folder`; return the number of vectors. Texts go to the encoder as work items do."""
    import faiss

    cutter, reading = make_cutter(ChunkingSettings(), load_tokenizer(settings)), ReadingSettings()
    encoder = load_encoder(settings)
    index = faiss.IndexFlatIP(encoder.dimension)
    texts: list[str] = []
    n_tokens = 0
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as stream:
            for extracted in extract_file(stream, str(path), reading):
                assert extracted.snapshot is not None
                units = cutter.cut(extracted.snapshot).units
                texts.extend(unit.embedded_text for unit in units)
                n_tokens += sum(unit.n_tokens for unit in units)
                if n_tokens >= settings.work_item_tokens:
                    index.add(encoder.encode(texts).vectors.astype(np.float32))
                    texts, n_tokens = [], 0
    if texts:
        index.add(encoder.encode(texts).vectors.astype(np.float32))
    return int(index.ntotal)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="the corpus")
    parser.add_argument("--encoder", default="minilm", help="as in the settings")
    options = parser.parse_args()
    print(f"{index_folder(options.folder, EncoderSettings(encoder=options.encoder))} vectors")


if __name__ == "__main__":
    main()

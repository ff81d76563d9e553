"""Sentences with exact spans, in any script and in linear time."""

from transforms.sentences.splitting import VERSION, split_sentences

__all__ = ["VERSION", "split_sentences"]

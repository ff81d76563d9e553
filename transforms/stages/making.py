"""Work is done: contents are cut, units are encoded."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import AsSingleton, PCollection, TaggedOutput
from apache_beam.utils.shared import Shared

from transforms.context import RunContext
from transforms.cutters import CuttingTools
from transforms.cutting import cut_item
from transforms.hints import cutting_hints, resource_hints
from transforms.records import (
    EncodeItem,
    Failure,
    Note,
    Record,
)
from transforms.stages.common import FAILURES, ITEMS, NOTES, Keyed, count, same
from transforms.together import passed_on


@dataclass
class CutUnits(beam.PTransform):
    """Work items in; encode items, (content shard, place) pairs, dead letters and notes out."""

    context: RunContext
    verdict: PCollection[str]

    def expand(self, items: PCollection[Any]) -> Any:
        admitted = (
            items
            | "IfAdmitted" >> beam.Filter(_admitted, AsSingleton(self.verdict)).with_output_types(Record)
            | "SpreadWork" >> beam.Reshuffle()
        )
        cutting = _by_asking(self.context) if self.context.asking else beam.ParDo(_CutUnits(self.context))
        cut = (
            admitted
            | "Cut" >> cutting.with_resource_hints(**cutting_hints(self.context))
            | "Sort" >> beam.FlatMap(_sort_cut, self.context).with_outputs(NOTES, FAILURES, ITEMS, main="places")
        )
        places = cut["places"] | "Places" >> beam.Map(same).with_output_types(Keyed)
        return (
            cut[ITEMS] | "Items" >> beam.Map(same).with_output_types(Record),
            places,
            cut[FAILURES] | "Failures" >> beam.Map(same).with_output_types(Record),
            cut[NOTES] | "Notes" >> beam.Map(same).with_output_types(Record),
        )


def _admitted(element: Any, verdict: str) -> bool:
    return not verdict


class _CutUnits(beam.DoFn):
    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._shared = Shared()

    def setup(self) -> None:
        self._tools = self._shared.acquire(lambda: CuttingTools(self._context))

    def process(self, item: Any) -> Iterator[Any]:
        yield list(cut_item(self._context, self._tools.cutter, self._tools.tokenizer, item))


def _by_asking(context: RunContext) -> beam.PTransform[Any, Any]:
    from transforms.cutting_by_asking import LlmHandler
    from transforms.inference import RunInference

    return RunInference(LlmHandler(context))


def _sort_cut(results: Iterable[Any], context: RunContext) -> Iterator[Any]:
    said: dict[str, list[Record]] = {}
    for result in results:
        match result:
            case Note():
                count("cut", result.outcome, result.count)
                said.setdefault(NOTES, []).append(result)
            case Failure():
                said.setdefault(FAILURES, []).append(result)
            case EncodeItem():
                count("cut", "tokens", result.n_tokens)
                yield TaggedOutput(ITEMS, result)
            case _:
                yield result
    yield from (TaggedOutput(tag, together) for tag, together in passed_on(context, said))


@dataclass
class EncodeUnits(beam.PTransform):
    """Encode items in; (content shard, place) pairs, dead letters and notes out."""

    context: RunContext

    def expand(self, items: PCollection[Any]) -> Any:
        from transforms.embedding import EncoderHandler
        from transforms.inference import RunInference

        chosen = self.context.encoder
        hints = resource_hints(chosen.encoder_accelerator, chosen.encoder_min_ram_gb)
        encoded = (
            items
            | "SpreadItems" >> beam.Reshuffle()
            | "Encode" >> RunInference(EncoderHandler(self.context)).with_resource_hints(**hints)
            | "Sort" >> beam.FlatMap(_sort_encoded, self.context).with_outputs(NOTES, FAILURES, main="places")
        )
        return (
            encoded["places"] | "Places" >> beam.Map(same).with_output_types(Keyed),
            encoded[FAILURES] | "Failures" >> beam.Map(same).with_output_types(Record),
            encoded[NOTES] | "Notes" >> beam.Map(same).with_output_types(Record),
        )


def _sort_encoded(item: Any, context: RunContext) -> Iterator[Any]:
    said = {NOTES: item.notes, FAILURES: item.failures}
    yield from (TaggedOutput(tag, together) for tag, together in passed_on(context, said))
    yield from item.places

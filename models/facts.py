"""What a plan has to know of an encoder: read from its files, or stated for one that is not here."""

import msgspec

from models.encoder import encoder_parameters, encoder_prompts
from models.errors import CorpusmillError, MissingExtraError, SettingsError
from models.model_files import dimension, max_input_tokens, read_json, read_modules, resolve_model
from models.prices import EncoderPrices
from models.settings import EncoderSettings
from models.tokenizer import load_tokenizer

STATED = ("parameters", "layers", "hidden_size", "dimension", "max_input_tokens")


class EncoderFacts(msgspec.Struct, frozen=True):
    """Sizes of an encoder. `parameters` leaves embedding tables out; `overhead_tokens` holds prompt and special tokens.

    `is_stated` tells facts that a person gave from facts read from the model's own files.
    """

    name: str
    parameters: int
    layers: int
    hidden_size: int
    dimension: int
    max_input_tokens: int
    overhead_tokens: int
    is_stated: bool = False

    @property
    def room_tokens(self) -> int:
        """Content tokens that one input may have."""
        return self.max_input_tokens - self.overhead_tokens


def encoder_facts(settings: EncoderSettings, stated: EncoderPrices) -> EncoderFacts:
    """The facts of the encoder that `settings` name: those `stated`, if they are, else those of its files.

    :raises SettingsError: some facts are stated and some are not, or the model is not within reach; the message names
        the facts that are needed.
    """
    missing = [name for name in STATED if getattr(stated, name) is None]
    if len(missing) == len(STATED):
        return _facts_of_files(settings)
    if missing:
        raise SettingsError(
            f"section [encoder] of the prices states an encoder in part; give {', '.join(missing)} too, or none of "
            f"{', '.join(STATED)}"
        )
    given = stated.model_dump(include=set(STATED) | {"overhead_tokens"})
    if stated.max_input_tokens is not None and stated.max_input_tokens <= stated.overhead_tokens:
        raise SettingsError(f"max_input_tokens = {stated.max_input_tokens} leaves no room for a text; raise it")
    return EncoderFacts(settings.encoder, **given, is_stated=True)


def _facts_of_files(settings: EncoderSettings) -> EncoderFacts:
    try:
        tokenizer = load_tokenizer(settings)
        prompt = encoder_prompts(settings)[0]
    except MissingExtraError:
        raise
    except CorpusmillError as error:
        raise SettingsError(
            f"{error}. To plan for a model that is not here, state {', '.join(STATED)} in section [encoder] of --prices"
        ) from error
    overhead = tokenizer.overhead_tokens + (int(tokenizer.count([prompt])[0]) if prompt else 0)
    if settings.encoder == "hashing":
        return EncoderFacts("hashing", 0, 0, 0, settings.hashing_dimension, tokenizer.max_input_tokens, overhead)
    folder = resolve_model(settings)
    config = read_json(read_modules(folder)[0][1] / "config.json")
    return EncoderFacts(
        name=settings.encoder,
        parameters=encoder_parameters(settings),
        layers=int(config.get("num_hidden_layers", 0)),
        hidden_size=int(config.get("hidden_size", 0)),
        dimension=dimension(folder),
        max_input_tokens=max_input_tokens(folder, settings),
        overhead_tokens=overhead,
    )

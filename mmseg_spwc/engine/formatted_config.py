"""A config whose text is laid out once, not at every use."""
import functools

from mmengine.config import Config


class FormattedConfig(Config):
    """``Config`` that remembers its text.

    MMEngine writes the config of a run to the log, to files and to every
    visualiser, and lays it out anew each time, which takes longer than a
    short step takes to train. The text is looked up by the content, so a
    changed config gets a new one.
    """

    @property
    def pretty_text(self) -> str:
        return _layout(_Content(self))


class _Content:
    """A config as the key of a cache: equal if it says the same."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.text = repr(config.to_dict())

    def __eq__(self, other: object) -> bool:
        return self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


@functools.lru_cache(maxsize=8)
def _layout(content: _Content) -> str:
    return Config.pretty_text.fget(content.config)

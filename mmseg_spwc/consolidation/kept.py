"""The penalty of many steps on disk, so that the next step goes on from it."""
import contextlib
import hashlib
import itertools
import json
from collections.abc import Mapping

from safetensors import SafetensorError, safe_open

from mmseg_spwc.utils.distributed import from_first_rank
from mmseg_spwc.utils.files import write_safetensors

from .quadratic import QuadraticPenalty
from .store import StepStore

FORMAT = 'mmseg_spwc.penalty/1'
EVERY = 32  # steps after which it is written anew


class KeptPenalty:
    """The penalty of the first steps, as it was when it was kept.

    Where all steps weigh the same, as without spWC, the penalty of a step is
    that of the step before and one term more. What is kept is used only while
    the weights and files of its steps and the recipe are the same, so that
    strength and centre are the same bit for bit. It takes the room of two
    stored steps.

    Args:
        store: The steps.
        recipe: Functions and objects that make a penalty of the steps. They
            are known by their names and plain attributes.
    """

    def __init__(self, store: StepStore, recipe: tuple) -> None:
        self.store = store
        self.recipe = [_described(part) for part in recipe]
        self.path = store.directory / 'penalty.safetensors'

    def resume(self, weights: Mapping[int, float]
               ) -> tuple[QuadraticPenalty, dict[int, float]]:
        """Give a penalty, and the weights of the steps that it lacks."""
        penalty, count = QuadraticPenalty(), 0
        # one open file: another process may replace it meanwhile
        with contextlib.suppress(FileNotFoundError, SafetensorError), \
                safe_open(self.path, framework='pt') as file:
            header = file.metadata() or {}
            count = int(header.get('steps', 0))
            first = dict(itertools.islice(weights.items(), count))
            if header != self._header_for(first):
                return penalty, dict(weights)
            penalty.load_state_dict(
                {key: file.get_tensor(key) for key in file.keys()})  # noqa: SIM118
        return penalty, dict(itertools.islice(weights.items(), count, None))

    def update(self, penalty: QuadraticPenalty,
               weights: Mapping[int, float]) -> None:
        """Keep a penalty of these weights, if later steps can use it."""
        if len(weights) % EVERY == 0 and len(set(weights.values())) == 1:
            from_first_rank(write_safetensors, self.path, penalty.state_dict(),
                            self._header_for(weights))

    def _header_for(self, weights: Mapping[int, float]) -> dict[str, str]:
        facts = [(step, weight, *self.store.stamp(step))
                 for step, weight in weights.items()]
        text = json.dumps([self.recipe, facts])
        return dict(format=FORMAT, steps=str(len(weights)),
                    digest=hashlib.sha256(text.encode()).hexdigest())


def _described(part: object) -> list:
    """Name and plain attributes, of a method those of its object."""
    owner = getattr(part, '__self__', part)
    plain = {
        key: value
        for key, value in getattr(owner, '__dict__', {}).items()
        if isinstance(value, int | float | str | None)
    }
    return [getattr(part, '__qualname__', ''), type(owner).__qualname__,
            plain]

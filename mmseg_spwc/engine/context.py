"""What a step's Runner carries from the boundary before it to the next."""
import functools
from pathlib import Path

from mmengine.config import Config

from mmseg_spwc.record import Record
from mmseg_spwc.scenario import Scenario, build_scenario


class StepContext:
    """What a step knows of its sequence; hooks read it, and write ``entry``.

    ``record`` holds the finished steps; where it is not given, it is that of
    ``work_dir``, read if somebody asks for it. What is decided and measured
    goes into ``entry``, for the record.
    """

    def __init__(self, step: int, scenario: Scenario, work_dir: Path,
                 record: Record | None = None,
                 later_iterations: int = 0) -> None:
        self.step = step
        self.scenario = scenario
        self.work_dir = Path(work_dir)
        self.later_iterations = later_iterations
        self.entry: dict = {}
        if record is not None:
            self.record = record

    @functools.cached_property
    def record(self) -> Record:
        return Record.read(self.work_dir)

    @property
    def iterations_before(self) -> int:
        """Iterations of the finished steps."""
        ends = [(entry.get('curves') or {}).get('iterations') or [0]
                for entry in self.record.steps if entry['step'] < self.step]
        return sum(end[-1] for end in ends)

    @classmethod
    def of_config(cls, cfg: Config) -> 'StepContext':
        """That of a step which runs outside a sequence."""
        data = cfg.train_dataloader.dataset
        return cls(data.step, build_scenario(data.scenario),
                   Path(cfg.work_dir).parent)


def context_of(runner) -> StepContext:
    """Return the context of a runner; outside a sequence, by its config."""
    if getattr(runner, 'context', None) is None:
        runner.context = StepContext.of_config(runner.cfg)
    return runner.context

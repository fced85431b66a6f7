"""Runs a whole sequence of steps: one ordinary MMEngine Runner each."""
import copy
import gc
import time
from pathlib import Path

from mmengine.config import Config
from mmengine.dist import get_world_size, is_main_process
from mmengine.registry import init_default_scope
from mmengine.runner import Runner

from mmseg_spwc.config.keys import check_keys, check_values
from mmseg_spwc.config.preflight import Plan, check_start_files, plan_steps
from mmseg_spwc.config.stages import stage_of
from mmseg_spwc.config.start import settle_classes
from mmseg_spwc.config.step import (
    checkpoint_path,
    scenario_of,
    step_config,
    steps_of,
)
from mmseg_spwc.errors import data_losses, input_errors
from mmseg_spwc.evaluation import judge
from mmseg_spwc.problems import check_data_left, keep_last_scores, problem_of
from mmseg_spwc.record import Record
from mmseg_spwc.registry import DATASETS, RUNNERS
from mmseg_spwc.runtime.agreement import check_agreement
from mmseg_spwc.runtime.checkpoint import Stamp, check_fits, load_step
from mmseg_spwc.runtime.lock import run_lock
from mmseg_spwc.runtime.memory import free_memory, frozen_heap, peak_memory
from mmseg_spwc.runtime.preemption import stop_requests
from mmseg_spwc.runtime.resume_point import (
    find_resume_point,
    remove_resume_points,
)
from mmseg_spwc.terminal import say, shown, warn
from mmseg_spwc.utils.distributed import from_first_rank, unwrap
from mmseg_spwc.visualization.step_report import step_line, step_report
from mmseg_spwc.visualization.tables import final_table

from . import weights
from .context import StepContext
from .histories import loss_curves
from .open_record import open_record
from .start import Start
from .step_runner import StepRunner

VALIDATION = ('val_dataloader', 'val_evaluator', 'val_cfg')


@RUNNERS.register_module()
class ContinualRunner:
    """Trains, evaluates and records every step of a scenario.

    It owns no training logic, and the record is its only memory: a resumed
    sequence goes on with the first step that the record does not hold, and
    MMEngine resumes inside that step. :meth:`_run_step` reads from one
    boundary to the next.

    Args:
        cfg (Config): The config of the sequence, with ``work_dir``.
    """

    def __init__(self, cfg: Config) -> None:
        settle_classes(cfg)
        check_keys(cfg)
        check_values(cfg)
        self.cfg = cfg
        self.work_dir = Path(cfg.work_dir)
        with input_errors('scenario'):
            self.scenario = scenario_of(cfg)
        self.problem = problem_of(self.scenario)
        self.start: Start | None = None
        self.method = cfg.method.name
        if cfg.get('self_paced'):
            self.method += '+' + cfg.self_paced.get('name', 'spWC')

    @classmethod
    def from_cfg(cls, cfg: Config) -> 'ContinualRunner':
        """Build it as ``RUNNERS.build`` does (see ``runner_type``)."""
        return cls(cfg)

    @property
    def steps(self) -> list:
        """The steps that are trained, see :func:`steps_of`."""
        return steps_of(self.cfg, self.scenario)

    def train(self) -> Record:
        """Run every step that is not finished yet.

        Returns:
            Record: The record of the whole run.
        """
        verbose = self.cfg.get('verbose', False)
        with run_lock(self.work_dir), stop_requests(), data_losses(), \
                shown(verbose), frozen_heap():
            return self._train_steps()

    def check(self) -> tuple[Record, Plan]:
        """Do all that comes before training, and write nothing."""
        with data_losses(), shown(self.cfg.get('verbose', False)):
            return self._prepare()

    def _prepare(self) -> tuple[Record, Plan]:
        init_default_scope(self.cfg.get('default_scope', 'mmseg'))
        record = open_record(self.cfg, self.scenario, self.method)
        if any(stage_of(self.cfg.method, step) == 'first'
               for step in self.steps if step not in record.finished_steps):
            check_start_files(self.cfg)
        unused = [key for key in VALIDATION if self.cfg.get(key)]
        if unused:
            warn(f'{", ".join(unused)} of the config: not used, since a '
                 'sequence validates on its held-out slice (heldout), as it '
                 'tests.')
        plan = plan_steps(self.cfg, self.scenario, self.steps)
        self.start = self._find_start(record, plan)
        until = self.start.step if self.start else -1
        plan.iterations.update((t, 0) for t in self.steps if t <= until)
        check_data_left(self.scenario, [
            step for step in self.steps
            if step > until and step not in record.finished_steps])
        return record, plan

    def _train_steps(self) -> Record:
        record, plan = self._prepare()
        record.content['scenario'].update(plan.facts)
        gc.freeze()  # the plan lives as long as the sequence
        for step in self.steps:
            if step in record.finished_steps:
                pass
            elif self._is_gone(step):
                self._take_entry(record, step)
            else:
                self._run_step(record, plan, step)
            from_first_rank(
                remove_resume_points, self.work_dir / f'step_{step:02d}')
        if is_main_process() and record.content['status'] != 'finished':
            record.finish()
            record.write(self.work_dir)
        say('\n' + final_table([record]))
        return record

    def test(self, checkpoint: str) -> dict:
        """Score a step's checkpoint as the sequence did.

        Args:
            checkpoint (str): ``final.pth`` of a step.

        Returns:
            dict: The entry that the record has for that step, without what
            only training knows.
        """
        init_default_scope(self.cfg.get('default_scope', 'mmseg'))
        content = load_step(checkpoint)
        stamp = content['stamp']
        check_fits(stamp, self.scenario, checkpoint)
        cfg = step_config(self.cfg, self.scenario, stamp.step,
                          get_world_size())
        cfg.work_dir = f'{self.work_dir}/test_step_{stamp.step:02d}'
        runner = StepRunner.of(cfg)
        weights.load(runner, content['state_dict'], checkpoint)
        return self._score(runner, stamp.step)

    def _find_start(self, record: Record, plan: Plan) -> Start | None:
        """What stands for the first steps, if they are not finished yet."""
        given = self.cfg.get('start_from')
        last = record.steps[-1] if record.steps else dict(step=-1)
        until = (last.get('start_from') or {}).get('until', 0)
        if not given or 0 not in self.steps or last['step'] >= until and \
                record.steps:
            return None
        source = copy.deepcopy(
            plan.configs[self.steps[-1]].test_dataloader.dataset)
        names = DATASETS.build(source).metainfo['classes']
        return Start(given, names, self.scenario)

    def _score(self, runner: Runner, step: int) -> dict:
        entry = self.problem.entry(runner, self.scenario, step)
        parameters = sum(p.numel() for p in runner.model.parameters())
        return dict(entry, parameters=parameters)

    def _run_step(self, record: Record, plan: Plan, step: int) -> None:
        """From the boundary before a step to the one after it."""
        begin = time.monotonic()
        context = StepContext(step, self.scenario, self.work_dir, record,
                              plan.later_iterations(step))
        cfg = plan.configs[step]
        cfg.load_from = find_resume_point(cfg.work_dir)
        cfg.resume = cfg.load_from is not None
        runner = StepRunner.of(cfg, context)
        branches = self._train(runner, step)
        path = checkpoint_path(self.cfg.work_dir, step)
        weights.finish(runner, path, Stamp.of(
            self.scenario, step, self.method), branches)
        entry = dict(
            self._score(runner, step),
            images=plan.images[step],
            checkpoint=str(Path(path).relative_to(self.work_dir)),
            priority=context.entry.get('priority'),
            self_paced=plan.choices.get(step + 1),
            consolidation=context.entry.get('consolidation'),
            replay=_replayed(runner),
            start_from=context.entry.get('start_from'),
            curves=loss_curves(runner.message_hub, runner.iter))
        if (self.cfg.get('heldout') or {}).get('ratio'):
            entry['kpi'] = keep_last_scores(
                entry['kpi'], self.scenario, step,
                [*record.steps, *self._scored_before(step)])
        if self.cfg.get('accept'):
            entry['accepted'] = judge([*record.steps, entry],
                                      **self.cfg.accept)
        check_agreement(
            f'about step {step}',
            scores={k: v for k, v in entry.items() if k != 'curves'})
        entry['cost'] = dict(
            wall_time=time.monotonic() - begin, peak_memory=peak_memory())
        self._add(record, entry)
        say(step_report(record, step))
        runner.release()
        del runner, context
        free_memory()

    def _add(self, record: Record, entry: dict) -> None:
        """Write a step into the record: now it is finished."""
        steps = [*record.steps, entry]
        record.add_step(
            entry, dict(self.problem.summary(steps), **_memory_used(steps)))
        from_first_rank(record.write, self.work_dir)

    def _scored_before(self, step: int) -> list:
        """The entry that another run has of a step that was its own."""
        taken = self.start is not None and step <= self.start.step
        return self.start.scored(step) if taken else []

    def _is_gone(self, step: int) -> bool:
        """Whether only the scores are left of a step of ``start_from``."""
        return self.start is not None and step < self.start.step and \
            isinstance(self.start.earlier[step], dict)

    def _take_entry(self, record: Record, step: int) -> None:
        """Take the entry of a step whose weights are gone as it is."""
        entry = dict(self.start.earlier[step], start_from=dict(
            file=self.start.model.path, until=self.start.step))
        self._add(record, entry)
        say(f'{step_line(record, step)} (by its run, whose weights are gone)')

    def _train(self, runner: Runner, step: int) -> dict | None:
        """Train a step, or take it from ``start_from``.

        Returns the branches that the next step goes on with, if it does.
        """
        if self.start is not None and step <= self.start.step:
            return weights.take(runner, self.start, step)
        runner.train()
        return unwrap(runner.model).carried_branches()


def _replayed(runner: Runner) -> dict | None:
    """What a step replayed, if it replayed anything."""
    dataset = getattr(runner.train_dataloader, 'dataset', None)
    return dataset.replay_facts() if getattr(
        dataset, 'memory', None) else None


def _memory_used(steps: list) -> dict:
    """The largest memory of a run; empty without one."""
    used = [entry['replay'] for entry in steps if entry.get('replay')]
    if not used:
        return {}
    sizes = [replay['bytes'] for replay in used]
    return dict(
        replayed=max(replay['images'] for replay in used),
        replayed_bytes=None if None in sizes else max(sizes))

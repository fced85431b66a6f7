"""Small steps in seconds: only the 1x1 classifiers of a segmentor train.

The features of the last layer before the classifier are computed once, with
the weights of step 0. Then a whole sequence of later steps takes seconds,
with the losses, the initialisation and the priorities of the package: enough
seeds to tell variants apart that a full run cannot.

    python tools/analysis_tools/small_steps.py features CONFIG \\
        work_dirs/RUN/step_00/final.pth features.pt
    python tools/analysis_tools/small_steps.py run features.pt \\
        --seeds 0 1 2 --options init=zero lr_mult=3. --out runs.json

A seed draws the order of the later classes, the batches and the flips.
"""
import argparse
import json
from pathlib import Path

import numpy as np
import torch
from mmengine.config import DictAction
from torch import Tensor
from torch.nn import functional as F

from mmseg_spwc.errors import ConfigError, input_errors, user_errors
from mmseg_spwc.evaluation.iou import (
    count_areas,
    intersection_over_union,
)
from mmseg_spwc.labels import VOID
from mmseg_spwc.models.growing import GrowingClassifier
from mmseg_spwc.models.losses import (
    UnbiasedCrossEntropyLoss,
    UnbiasedDistillationLoss,
)
from mmseg_spwc.selfpaced import SelfPacedChoice

DEFAULTS = dict(
    init='balanced', share=None, lr=0.002, lr_mult=1., base_lr_mult=None,
    kd=20., new_offset=0., epochs=10, min_iters=0, batch=16)


def cache_features(config: str, checkpoint: str,
                   options: dict | None = None) -> dict:
    """Run the network of step 0 once over all images.

    The dict has ``train`` and ``test`` with ``features`` (N, D, h, w) in half
    precision and raw ``labels`` (N, 2 h, 2 w); ``classes``, the ids of each
    step; and ``classifier``, the weights of step 0's.
    """
    from argparse import Namespace

    from mmengine.registry import init_default_scope

    from mmseg_spwc.config.load import load_config
    from mmseg_spwc.config.step import scenario_of
    from mmseg_spwc.engine import step_config
    from mmseg_spwc.engine.hooks.step_transition_hook import build_plain
    from mmseg_spwc.runtime.checkpoint import load_step

    cfg = load_config(Namespace(
        config=config, work_dir='work_dirs/features', cfg_options=options))
    init_default_scope(cfg.get('default_scope', 'mmseg'))
    scenario = scenario_of(cfg)
    out = step_config(cfg, scenario, 0)
    model = build_plain(out.model, scenario.channels(0)).eval()
    model.load_state_dict(load_step(checkpoint)['state_dict'])
    state = model.decode_head.conv_seg.state_dict()
    return dict(
        train=_pass(model, out.val_dataloader.dataset.dataset),
        test=_pass(model, out.test_dataloader.dataset.dataset),
        classes=[list(scenario.new_classes(t))
                 for t in range(scenario.num_steps)],
        classifier=state)


@torch.no_grad()
def _pass(model, config: dict, size: int = 32) -> dict:
    from mmseg.registry import DATASETS
    features, labels = [], []
    model.decode_head.conv_seg.register_forward_pre_hook(
        lambda _, inputs: features.append(inputs[0].half()))
    for part in config.get('datasets') or [config]:
        dataset = DATASETS.build(part)
        for first in range(0, len(dataset), size):
            samples = [dataset[i] for i in range(
                first, min(first + size, len(dataset)))]
            batch = model.data_preprocessor(
                {key: [s[key] for s in samples] for key in samples[0]})
            model.decode_head.forward(model.extract_feat(batch['inputs']))
            labels += [s.gt_sem_seg.data[0] for s in batch['data_samples']]
    features = torch.cat(features)
    step = labels[0].shape[-1] // (2 * features.shape[-1])
    labels = torch.stack(labels)[:, step // 2::step, step // 2::step]
    model.decode_head.conv_seg._forward_pre_hooks.clear()
    return dict(features=features, labels=labels.to(torch.uint8))


class Images:
    """Features and labels in memory, and which image shows which class."""

    def __init__(self, features: Tensor, labels: Tensor, classes: int) -> None:
        self.features, self.labels = features.float(), labels.long()
        flat = self.labels.flatten(1)
        self.shows = torch.stack(
            [(flat == c).any(1) for c in range(classes)], 1)  # (N, classes)

    def showing(self, classes: list) -> 'Images':
        """The images that show any of the classes."""
        return self[self.shows[:, classes].any(1)]

    def __getitem__(self, chosen: Tensor) -> 'Images':
        part = object.__new__(Images)
        part.features, part.labels = (self.features[chosen],
                                      self.labels[chosen])
        part.shows = self.shows[chosen]
        return part

    def __len__(self) -> int:
        return len(self.features)


class Sequence:
    """The later steps of a scenario, on what :func:`cache_features` returned.

    ``self_paced`` are options of spWC, with ``on`` and ``update.iters``;
    :data:`DEFAULTS` has the other options.
    """

    def __init__(self, data: dict, seed: int, self_paced: dict | None = None,
                 **options) -> None:
        unknown = options.keys() - DEFAULTS.keys()
        if unknown:
            raise ValueError(f'Unknown option {sorted(unknown)[0]!r}: known '
                             f'are {", ".join(DEFAULTS)}.')
        self.options = {**DEFAULTS, **options}
        self.random = np.random.default_rng(seed)
        first, *later = data['classes']
        later = [c for step in later for c in step]
        self.order = [int(c) for c in self.random.permutation(later)]
        self.channels = [0, *first]  # class of every channel
        number = 1 + len(first) + len(later)
        train = Images(**data['train'], classes=number)
        held = torch.from_numpy(
            np.random.default_rng(0).random(len(train)) < 0.1)
        self.train, self.held = train[~held], train[held]
        self.test = Images(**data['test'], classes=number)
        self.steps = [len(self.channels)]
        self.net = self._grow()
        self.net.load_state_dict(data['classifier'])
        chosen = dict(self_paced or {})
        self.on = chosen.pop('on', 'pixel')
        self.update = chosen.pop('update.iters', 0)
        self.choice = chosen and SelfPacedChoice.from_dict(
            dict(dict(unit='class'), **chosen))

    def run(self) -> dict:
        """Train all steps; return the scores on both sets of images."""
        history, weights = [self.score(self.held)], []
        for new in self.order:
            self.channels.append(new)
            v = self._train_step(new, history)
            if v is not None:
                weights.append([round(x, 3) for x in v.tolist()])
            history.append(self.score(self.held))
        return dict(
            order=self.order, heldout=history, v=weights,
            test=self.score(self.test))

    def _grow(self) -> GrowingClassifier:
        dim = self.train.features.shape[1]
        return GrowingClassifier(dim, self.steps)

    def _train_step(self, new: int, history: list) -> Tensor | None:
        """Learn a class; return the priorities that it ended with."""
        options, old = self.options, self.net
        v = self.choice.decide(history).v if self.choice else None
        self.steps.append(1)
        self.net = self._grow()
        self.net.load_state_dict(old.state_dict(), strict=False)
        self.net.initialise_new(options['init'], share=options['share'])
        images = self.train.showing([new])
        iterations = max(len(images) // options['batch'] * options['epochs'],
                         options['min_iters'])
        optimizer = torch.optim.SGD(
            self._rates(), momentum=0.9, weight_decay=1e-4, nesterov=True)
        rate = torch.optim.lr_scheduler.PolynomialLR(
            optimizer, iterations, 0.9)
        for number, chosen in enumerate(
                self._batches(len(images), iterations)):
            if self.choice and self.update and number and (
                    number % self.update == 0):
                v = self.choice.decide(history, self.score(self.held)).v
            features, labels = self._flipped(images[chosen], new)
            loss = self._loss(features, labels, old, v)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rate.step()
        return v

    def _rates(self) -> list[dict]:
        """Parameters with their learning rates."""
        options, (base, *later) = self.options, self.net.convs
        fast = slow = options['lr_mult']
        if options['base_lr_mult'] is not None:
            slow = options['base_lr_mult']
        return [dict(params=[*conv.parameters()], lr=options['lr'] * mult)
                for conv, mult in [(base, slow), *((c, fast) for c in later)]]

    def _batches(self, number: int, iterations: int):
        queue, size = [], self.options['batch']
        for _ in range(iterations):
            if len(queue) < size:
                queue = list(self.random.permutation(number))
            yield torch.tensor(queue[:size])
            queue = queue[size:]

    def _flipped(self, images: Images, new: int) -> tuple:
        flip = torch.from_numpy(self.random.random(len(images)) < 0.5)
        x, y = images.features.clone(), images.labels.clone()
        x[flip], y[flip] = x[flip].flip(-1), y[flip].flip(-1)
        channel = len(self.channels) - 1
        return x, torch.where(y == new, channel, (y == VOID) * VOID)

    def _loss(self, features: Tensor, labels: Tensor,
              old: GrowingClassifier, v: Tensor | None) -> Tensor:
        with torch.no_grad():
            old_logits = enlarged(old(features), labels)
        logits = enlarged(self.net(features), labels)
        pixel_weight = old_weight = None
        if v is not None:
            table, seen = torch.ones(VOID + 1), old_logits.argmax(1)
            table[:len(v)] = v.float()
            if self.on in ('pixel', 'both'):
                units = seen.where(labels < len(v), labels)
                pixel_weight = table[units]
            if self.on in ('distillation', 'both'):
                old_weight = table[seen]
        pixel = UnbiasedCrossEntropyLoss(
            new_offset=self.options['new_offset'])
        kd = UnbiasedDistillationLoss(self.options['kd'])
        old_channels = old_logits.shape[1]
        return pixel(logits, labels, old_channels, pixel_weight) + kd(
            logits, old_logits, old_weight)

    @torch.no_grad()
    def score(self, images: Images) -> list:
        """IoU of every channel, None for a class that no image shows."""
        number = len(self.channels)
        images = images.showing(self.channels[1:])
        table = torch.zeros(VOID + 1, dtype=torch.long)
        table[self.channels], table[VOID] = torch.arange(number), VOID
        counts = torch.zeros(3, number, dtype=torch.long)
        for part in torch.arange(len(images)).split(128):
            labels = table[images.labels[part]]
            seen = enlarged(self.net(images.features[part]),
                            labels).argmax(1)
            counts += count_areas(seen, labels, number, VOID)
        return [v if v is None else round(v, 5)
                for v in intersection_over_union(*counts.tolist())]


def enlarged(logits: Tensor, labels: Tensor) -> Tensor:
    """Logits (B, C, h, w) at the size of the labels (B, H, W)."""
    return F.interpolate(
        logits, labels.shape[1:], mode='bilinear', align_corners=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest='command', required=True)
    features = commands.add_parser('features', help='run the network once')
    for name in ('config', 'checkpoint', 'out'):
        features.add_argument(name)
    features.add_argument(
        '--cfg-options', nargs='+', action=DictAction,
        help='such as scenario.order=frequent-last')
    run = commands.add_parser('run', help='train sequences')
    run.add_argument('features')
    run.add_argument('--seeds', type=int, nargs='+', default=[0])
    run.add_argument('--options', nargs='+', action=DictAction, default={})
    run.add_argument('--self-paced', nargs='+', action=DictAction)
    run.add_argument('--out', help='JSON file that results are added to')
    args = parser.parse_args()
    if args.command == 'features':
        torch.save(cache_features(args.config, args.checkpoint,
                                  args.cfg_options), args.out)
        return
    with user_errors(), input_errors(args.features):
        try:
            data = torch.load(args.features, weights_only=True)
        except EOFError:
            raise ConfigError(f'{args.features} is empty or cut off: compute '
                              'the features again.') from None
    for seed in args.seeds:
        entry = dict(
            seed=seed, options=args.options, self_paced=args.self_paced,
            **Sequence(data, seed, args.self_paced, **args.options).run())
        mean = np.nanmean(np.array(entry['test'], dtype=float))
        print(f'seed {seed}: mIoU {mean:.4f}, background '
              f'{entry["test"][0]:.4f}', flush=True)
        if args.out:
            path = Path(args.out)
            known = json.loads(path.read_text()) if path.exists() else []
            path.write_text(json.dumps([*known, entry]) + '\n')


if __name__ == '__main__':
    main()

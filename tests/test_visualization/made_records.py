"""Records as a run would leave them, without a run."""
import math
import random

from mmseg_spwc.record import Record

CONFIG = '''scenario = dict(dataset='made', name='2-1', setting='overlapped')
train_cfg = dict(max_epochs=3, type='EpochBasedTrainLoop')
'''


def make_run(name='made', seed=0):
    return dict(
        name=name, config=CONFIG, config_hash='f00d', seed=seed,
        command=f'tools/train.py {name}.py', packages=dict(torch='2'),
        commit=None, world_size=1)


def paced(**options):
    """What a step of a run with spWC says of the choice for the next."""
    age = {} if options.keys() & {'k', 'mu', 'age'} else dict(k=2)
    return {'unit': 'class', 'background': 'unit', 'rule': 'spwc', **age,
            **options}


def mean(values):
    known = [v for v in values if v is not None]
    return math.fsum(known) / len(known) if known else None


def curves(rng, iterations=40, points=8):
    ends = [(k + 1) * iterations // points for k in range(points)]
    return dict(iterations=ends, losses=dict(
        loss=[rng.random() + 1 / (k + 1) for k in range(points)],
        loss_pixel=[rng.random() for _ in range(points)]))


def seg_entry(rng, step, names, base, spwc, with_curves, last):
    iou = [rng.random() for _ in names]
    units = [mean(iou[:base])] + iou[base:]
    entry = dict(
        step=step, classes=names, class_ids=list(range(len(names))), iou=iou,
        miou=dict(base=mean(iou[:base]), base_no_bg=mean(iou[1:base]),
                  new=mean(iou[base:]), all=mean(iou),
                  all_no_bg=mean(iou[1:])),
        miou_by_step=units, pixel_accuracy=rng.random(),
        mean_accuracy=rng.random(),
        kpi={'split': 'heldout', 'class': iou, 'step': units},
        priority=None, images=dict(train=9, test=3), parameters=100,
        checkpoint=f'step_{step:02d}/final.pth',
        cost=dict(wall_time=60 * rng.random(), peak_memory=2**29))
    if spwc and step:
        old = base + step - 1
        entry['priority'] = dict(
            unit='class', rule=spwc['rule'],
            psi=[rng.random() for _ in range(old)],
            eta=[rng.random() for _ in range(old)],
            v=[rng.random() for _ in range(old)], mu=0.5, f=-1.)
    if spwc and not last:
        entry['self_paced'] = spwc
    if with_curves:
        entry['curves'] = curves(rng)
    return entry


def segmentation(method='RCIL', seed=0, steps=3, base=3, finished=True,
                 name='made', names=None, with_curves=True, planned=None,
                 self_paced=None):
    """A record of a segmentation that adds one class per step."""
    spwc = paced(**(self_paced or {})) if '+spWC' in method else None
    planned = planned or steps
    total = base + planned - 1
    names = names or ['background', *(f'class {i}' for i in range(1, total))]
    scenario = dict(
        dataset='made', name='2-1', setting='overlapped', kind='class',
        steps=[list(range(1, base)), *[[i] for i in range(base, total)]],
        num_classes=total, hash=f'{planned:08d}abcdef')
    rng = random.Random(f'{method} {seed} {name}')
    record = Record.new('segmentation', make_run(name, seed), scenario, method)
    for step in range(steps):
        entry = seg_entry(rng, step, names[:base + step], base, spwc,
                          with_curves, last=step + 1 == planned)
        steps_so_far = [*record.steps, entry]
        record.add_step(entry, dict(
            **entry['miou'], pixel_accuracy=entry['pixel_accuracy'],
            average_miou=mean([s['miou']['all'] for s in steps_so_far])))
    if finished:
        record.finish()
    return record


def classification(method='EWC', seed=0, tasks=4, penalised=None):
    """A record of a classification; the summary is that of the formulas."""
    rng = random.Random(f'{method} {seed}')
    scenario = dict(dataset='digits', name='permuted', kind='domain',
                    steps=[[0, 1]] * tasks, hash=f'{seed:016d}')
    record = Record.new('classification', make_run('cls', seed), scenario,
                        method)
    counts, apa = penalised or list(range(tasks)), []
    for task in range(tasks):
        row = [rng.random() for _ in range(task + 1)]
        entry = dict(
            step=task, classes=['0', '1'], class_ids=[0, 1],
            accuracy_by_step=row, accuracy=dict(mean=mean(row), all=mean(row)),
            kpi={'split': 'heldout', 'class': None, 'step': row},
            consolidation=dict(penalised=counts[task], stored=task),
            priority=None, images=dict(train=9), parameters=10,
            checkpoint=f'step_{task:02d}/final.pth', curves=curves(rng),
            cost=dict(wall_time=1., peak_memory=2**20))
        apa.append(mean(row))
        record.add_step(entry, dict(
            average_apa=mean(apa), final_accuracy=apa[-1],
            average_acf=mean([apa[0] - a for a in apa[1:]]) or 0.,
            forgetting=0.1, bwt=-0.1, learning_accuracy=0.5,
            first_accuracy=apa[0], ps_active=0.46, ps_stored=0.3,
            ps_resident=0.4))
    record.finish()
    return record


def write(record, folder):
    folder.mkdir(parents=True, exist_ok=True)
    record.write(folder)
    return folder

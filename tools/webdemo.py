"""Try all steps of a run on a page in the browser.

    python tools/webdemo.py work_dirs/RUN [--host 127.0.0.1] [--port 7860]

Drop an image and slide through the steps to watch classes appear and fade.
Needs `pip install gradio`.
"""
import argparse
import html
import os
import sys
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from mmseg_spwc.apis import inference
from mmseg_spwc.apis.step_model import StepModel, config_of, load_run_step
from mmseg_spwc.cli import add_size, add_trust
from mmseg_spwc.config.step import scenario_of
from mmseg_spwc.errors import ConfigError, RecordError, user_errors
from mmseg_spwc.visualization.figures.images import tinted
from mmseg_spwc.visualization.gallery import Gallery
from mmseg_spwc.visualization.runs import Run, load_runs

TOP = 5
# each network is read once; a sequence has rarely more steps
KEPT = 16
NEWEST = -1
# small images are drawn at least this large, large ones at most
SHOWN, LARGEST = 384, 1024
NARROW = 8  # times as long as wide, at most
UPLOAD = '20mb'  # the largest file that is taken
WAITING = 16  # people that may wait for an answer
CLEANED = (600, 3600)  # seconds between two cleanings, and of a file's life


class StepTrials:
    """The networks of a run's finished steps, to be tried on images.

    Images are resized to ``size``, by default the config's.
    """

    def __init__(self, run: Run, size: int | None = None) -> None:
        if not run.record.steps:
            raise RecordError(f'{run.folder} has no finished step.')
        self.run = run
        self.cfg = config_of(run)
        self.size = size or inference.default_size(self.cfg)
        self.steps = run.record.finished_steps
        self.load = lru_cache(KEPT)(self._load)

    @property
    def segments(self) -> bool:
        return self.run.record.problem == 'segmentation'

    @property
    def title(self) -> str:
        return f'{self.run.record.content["method"]}, step by step'

    def _load(self, step: int) -> StepModel:
        name = self.run.record.step(step)['checkpoint']
        return load_run_step(self.run, self.run.inside(name), self.cfg)

    def segment(self, image: np.ndarray,
                step: int) -> tuple[np.ndarray, list[tuple]]:
        """Draw what the network of a step sees in an RGB image.

        Returns the image with the classes' colours over it, and for each
        class of the step (name, colour, share of the image).
        """
        short, long = sorted(image.shape[:2])
        if long > NARROW * short:  # its shorter side is enlarged
            raise ConfigError(f'The image has {image.shape[1]}x'
                              f'{image.shape[0]} pixels: give one that is at '
                              f'most {NARROW} times as long as wide.')
        loaded = self.load(step)
        labels = inference.segment_image(loaded, image[..., ::-1], self.size)
        gallery = Gallery(loaded.classes, loaded.palette)
        painted = gallery.colour(labels)
        return tinted(image, painted, labels), gallery.shares(labels)

    def classify(self, image: np.ndarray, step: int,
                 task: int | None = None) -> list[tuple[str, float]]:
        """The most probable classes of an RGB image, and how probable.

        ``task`` is the one that the image belongs to, by default the newest.
        """
        if task is not None and task > step:
            raise ConfigError(f'Task {task} is learnt at step {task}: choose '
                              'that step or a later one.')
        return inference.classify_image(
            self.load(step), image[..., ::-1], self.size, task)[:TOP]

    def needs_task(self) -> bool:
        """Whether the answer depends on the task of an image."""
        scenario = scenario_of(self.cfg)
        return scenario.permute or scenario.heads == 'per_step'


def enlarged(image: np.ndarray) -> np.ndarray:
    """Repeat the pixels of a small image; its edges stay sharp."""
    times = max(1, SHOWN // max(image.shape[:2]))
    return image.repeat(times, 0).repeat(times, 1)


def legend_html(classes: list[tuple]) -> str:
    """Write (name, colour, share) as a list; what is absent is faint."""
    items = ''.join(
        f'<li style="display:flex;align-items:center;gap:.4rem;'
        f'margin:0;opacity:{1 if share else .7}">'
        f'<span style="width:.9rem;height:.9rem;border-radius:3px;'
        f'border:1px solid #888;background:{colour}"></span>'
        f'{html.escape(name)} {100 * share:.0f} %</li>'
        for name, colour, share in classes)
    return ('<ul style="list-style:none;padding:0;display:flex;'
            f'flex-wrap:wrap;gap:.25rem 1rem">{items}</ul>')


def build_page(trials: StepTrials) -> object:
    """Lay out the page: ``gradio.Blocks``, ready for ``launch``."""
    gr = _gradio()
    lay_out = _segmentation if trials.segments else _classification
    with gr.Blocks(title=trials.title, analytics_enabled=False,
                   delete_cache=CLEANED) as page:
        gr.Markdown(f'# {trials.title}')
        with gr.Row():
            with gr.Column():
                # a path: gradio would decode whatever comes
                image = gr.Image(label='Image', type='filepath',
                                 image_mode=None)
                step = gr.Slider(
                    trials.steps[0], trials.steps[-1], trials.steps[-1],
                    step=1, label='After step',
                    interactive=len(trials.steps) > 1)
            with gr.Column():
                inputs, outputs, answer = lay_out(gr, trials, image, step)
        gr.on([source.change for source in inputs], answer, inputs, outputs,
              api_name='try_step', show_progress='minimal',
              concurrency_limit=2)
    return page.queue(max_size=WAITING)


def serve(page: object, host: str, port: int) -> tuple:
    """Serve a page until it is interrupted."""
    try:
        return page.launch(server_name=host, server_port=port,
                           max_file_size=UPLOAD, share=False)
    except OSError as error:  # gradio's own words name a variable
        raise ConfigError(f'The page cannot be served at {host}:{port}, '
                          'which may be in use: choose another --port or '
                          '--host.') from error


def answers(gr, function: Callable) -> Callable:
    """Read the image at a path for a function, and show what is wrong."""

    def answer(path, *rest):
        try:
            image = path and inference.read_image(path, LARGEST)[..., ::-1]
            return function(image, *rest)
        except ConfigError as error:
            raise gr.Error(str(error)) from error

    return answer


def _segmentation(gr, trials: StepTrials, image, step) -> tuple:
    shown = gr.Image(label='Prediction', interactive=False)
    legend = gr.HTML()

    def answer(image, step):
        if image is None:
            return None, ''
        drawn, classes = trials.segment(image, int(step))
        return enlarged(drawn), legend_html(classes)

    return [image, step], [shown, legend], answers(gr, answer)


def _classification(gr, trials: StepTrials, image, step) -> tuple:
    task = gr.Dropdown(
        [('newest', NEWEST), *((f'task {t}', t) for t in trials.steps)],
        value=NEWEST, label='The image is of', visible=trials.needs_task())
    shown = gr.Label(label='Most probable classes', num_top_classes=TOP)

    def answer(image, step, task):
        if image is None:
            return None
        return dict(trials.classify(
            image, int(step), None if task == NEWEST else task))

    return [image, step, task], [shown], answers(gr, answer)


def _gradio():
    os.environ.setdefault('GRADIO_ANALYTICS_ENABLED', 'False')
    try:
        import gradio
    except ImportError as error:
        raise ConfigError('The page needs a package that is not installed: '
                          'pip install gradio') from error
    return gradio


def main() -> int:
    parser = argparse.ArgumentParser(description='Try a run in the browser')
    parser.add_argument('run', help='work_dir or record.json')
    parser.add_argument(
        '--host', default='127.0.0.1',
        help='address to listen at; 0.0.0.0 lets other machines in')
    parser.add_argument('--port', type=int, default=7860)
    add_size(parser)
    add_trust(parser)
    args = parser.parse_args()
    with user_errors():
        (run, ), _ = load_runs([args.run], args.trust)
        serve(build_page(StepTrials(run, args.size)), args.host, args.port)
    return 0


if __name__ == '__main__':
    sys.exit(main())

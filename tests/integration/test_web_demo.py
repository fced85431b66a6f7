"""The page on which the steps of a run are tried."""
import numpy as np
import pytest
import torch
from digit_runs import digits, train
from PIL import Image
from scripts import load

from mmseg_spwc.apis import inference
from mmseg_spwc.apis.step_model import StepModel
from mmseg_spwc.errors import ConfigError, RecordError
from mmseg_spwc.record import Record
from mmseg_spwc.visualization.runs import Run, load_runs

webdemo = load('tools/webdemo.py')
RED, BLUE = [200, 0, 0], [0, 0, 100]


@pytest.fixture(scope='module')
def run(tmp_path_factory):
    """Three tasks of permuted digits."""
    folder = tmp_path_factory.mktemp('web') / 'run'
    train(digits(folder))
    (found, ), _ = load_runs([folder])
    return found


@pytest.fixture
def shapes(monkeypatch):
    """A segmentation whose networks find bright pixels, from step 1 on."""

    def segment(loaded, image, size):
        bright = image[..., 2] > 100  # red, since it is BGR
        return np.where(bright, loaded.step, 0)

    trials = webdemo.StepTrials.__new__(webdemo.StepTrials)
    trials.run = Run(Record.new('segmentation', {}, {}, '<b>RCIL</b>'), '.')
    trials.steps, trials.size = [0, 1], None
    classes = ['background', '<i>disc</i>']
    trials.load = lambda step: StepModel(
        None, None, step, classes[:step + 1], [BLUE, RED][:step + 1])
    monkeypatch.setattr(inference, 'segment_image', segment)
    return trials


def image():
    """One bright red pixel in four."""
    found = np.full((2, 2, 3), 40, np.uint8)
    found[0, 1, 0] = 180
    return found


def test_classes_appear_with_their_step(shapes):
    drawn, legend = shapes.segment(image(), 0)
    assert (drawn == image()).all()
    assert legend == [('background', '#000064', 1.)]
    drawn, legend = shapes.segment(image(), 1)
    # 0.55 of the colour and 0.45 of the image; background is clear
    assert drawn[0, 1].tolist() == [191, 18, 18]
    assert drawn[1, 1].tolist() == [40, 40, 40]
    assert legend[1] == ('<i>disc</i>', '#c80000', .25)


def test_names_are_text_in_the_legend():
    text = webdemo.legend_html([('<i>disc</i>', '#c80000', .25)])
    assert '&lt;i&gt;disc&lt;/i&gt; 25 %' in text and '<i>' not in text


def test_a_strip_is_refused(shapes):
    with pytest.raises(ConfigError, match='has 401x50 pixels: give one'):
        shapes.segment(np.zeros((50, 401, 3), np.uint8), 0)
    assert shapes.segment(np.zeros((6, 48, 3), np.uint8), 0)


def test_small_images_are_enlarged():
    drawn = webdemo.enlarged(image())
    assert drawn.shape == (384, 384, 3)
    assert (drawn[:192, 192:] == image()[0, 1]).all()


def test_classes_of_a_classifier_by_step(run):
    trials = webdemo.StepTrials(run)
    assert trials.steps == [0, 1, 2] and trials.needs_task()
    loaded = trials.load(2)
    assert trials.load(2) is loaded
    grey = np.random.default_rng(0).integers(0, 256, (32, 32), np.uint8)
    found = trials.classify(grey[..., None].repeat(3, -1), 2, 1)
    assert len(found) == 5 and found == sorted(found, key=lambda x: -x[1])
    # by hand: the task's order of pixels, the network, a softmax
    from mmseg_spwc.config.step import scenario_of
    from mmseg_spwc.datasets.batches import PixelOrders
    orders = PixelOrders(scenario_of(trials.cfg), 1024)
    x = orders(torch.from_numpy(grey)[None, None], torch.tensor([1])).float()
    pre = loaded.model.data_preprocessor
    x = (x - pre.mean.view(1, -1, 1, 1)) / pre.std.view(1, -1, 1, 1)
    with torch.no_grad():
        logits = loaded.model.classifier(loaded.model.pre_logits(x))
    expected = logits.softmax(1)[0].topk(5).values
    assert [p for _, p in found] == pytest.approx(expected.tolist(), 1e-5)


def test_a_task_is_not_known_before_its_step(run):
    with pytest.raises(ConfigError, match='Task 2 is learnt at step 2'):
        webdemo.StepTrials(run).classify(image(), 1, 2)


def test_a_run_without_a_step_cannot_be_tried(tmp_path):
    record = Record.new('segmentation', {}, {}, 'x')
    with pytest.raises(RecordError, match='no finished step'):
        webdemo.StepTrials(Run(record, tmp_path))


def test_without_gradio_the_message_says_what_to_install(shapes, monkeypatch):
    monkeypatch.setitem(__import__('sys').modules, 'gradio', None)
    with pytest.raises(ConfigError, match='pip install gradio'):
        webdemo.build_page(shapes)


@pytest.fixture
def asked(monkeypatch):
    """Build a page, ask it over HTTP, and close it."""
    monkeypatch.setenv('GRADIO_ANALYTICS_ENABLED', 'False')
    client = pytest.importorskip('gradio_client',
                                 reason='gradio is not installed')
    pytest.importorskip('gradio', reason='gradio is not installed')
    pages = []

    def ask(trials, path, *values):
        page = webdemo.build_page(trials)
        pages.append(page)
        _, url, _ = page.launch(prevent_thread_lock=True, quiet=True)
        return client.Client(url, verbose=False).predict(
            client.handle_file(str(path)), *values, api_name='/try_step')

    yield ask
    for page in pages:
        page.close()


def test_the_page_answers_with_an_overlay(shapes, asked, tmp_path):
    Image.fromarray(image()).save(tmp_path / 'a.png')
    shown, legend = asked(shapes, tmp_path / 'a.png', 1)
    drawn = np.asarray(Image.open(shown).convert('RGB')).astype(int)
    assert drawn.shape == (384, 384, 3)
    assert abs(drawn[96, 288] - [191, 18, 18]).max() < 12  # webp
    assert '25 %' in legend


def test_the_page_answers_with_classes(run, asked, tmp_path):
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(tmp_path / 'a.png')
    trials = webdemo.StepTrials(run)
    answer = asked(trials, tmp_path / 'a.png', 2, 0)
    best = trials.classify(np.zeros((8, 8, 3), np.uint8), 2, 0)[0]
    assert answer['label'] == best[0]
    assert answer['confidences'][0]['confidence'] == pytest.approx(best[1])

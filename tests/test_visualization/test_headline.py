"""The three main numbers."""
from made_records import segmentation, write

from mmseg_spwc.visualization.headline import headlines
from mmseg_spwc.visualization.runs import compare, load_runs
from mmseg_spwc.visualization.scores import forgetting


def test_best_of_the_finished_methods(tmp_path):
    a, b = segmentation('A', steps=3), segmentation('B', steps=3)
    short = segmentation('C', steps=1, planned=3, finished=False)
    short.steps[0]['miou']['all'] = 1.  # no rival: it has not forgotten yet
    runs, _ = load_runs([write(r, tmp_path / r.content['method'])
                         for r in (a, b, short)])
    found = headlines(compare(runs)[0])
    best = max((a, b), key=lambda r: r.steps[-1]['miou']['all'])
    assert found[0].label == best.content['method']
    assert found[0].value == f'{100 * best.steps[-1]["miou"]["all"]:.1f} %'
    least = min((a, b), key=forgetting)
    assert found[2].label == least.content['method']
    assert [line.title for line in found] == [
        'highest mIoU after the last step',
        'highest mIoU on average over steps', 'least forgetting']


def test_nothing_finished_no_numbers(tmp_path):
    runs, _ = load_runs([write(segmentation(steps=0), tmp_path)])
    assert headlines(compare(runs)[0]) == []

# The paper's table of VOC 10-1 disjoint, IoU of every class.
#   python tools/sweep.py configs/sweeps/paper/voc_10_1_disjoint.py
#   python tools/sweep.py configs/sweeps/paper/voc_10_1_disjoint.py --scale small
_base_ = './voc_10_1_overlapped.py'
scenarios = [dict(name='10-1', setting='disjoint')]
# Of three rows the printed mean is not that of the printed classes: ALIFE 6.3,
# RCIL 19.9, RCIL+spWC 24.7.
paper = dict(
    title='IoU of every class on VOC 2012, 10-1 disjoint, in percent',
    scores={
        method: dict(all=all_, **{f'class_{c}': iou[c] for c in range(21)})
        for method, all_, iou in (
            ('finetune', 3.7, [69.1] + [0.] * 19 + [9.0]),
            ('ewc', 5.5, [73.9] + [0.] * 14 + [42.1] + [0.] * 5),
            ('lwf', 5.0, [77.0] + [0.] * 14 + [7.0, 0., 0., 8.2, 6.4, 6.8]),
            ('lwf_mc', 4.1, [75.1] + [0.] * 14 + [
                0.1, 0.0, 0.2, 0.0, 6.6, 4.9]),
            ('ilt', 5.1, [81.7] + [0.] * 14 + [2.6, 0., 0.2, 7.0, 6.6, 9.1]),
            ('mib', 8.8, [
                69.0, 0.0, 8.6, 0.0, 0.2, 17.7, 0.0, 0.7, 0.2, 0.2, 0.0, 4.6,
                0.0, 0.0, 6.5, 46.7, 0.0, 9.1, 5.8, 9.0, 6.8]),
            ('plop', 13.8, [
                0.0, 1.5, 19.0, 4.4, 18.2, 34.5, 1.8, 62.7, 27.8, 13.2, 0.0,
                5.2, 0.1, 0.0, 11.9, 66.7, 0.0, 4.9, 2.2, 11.4, 3.6]),
            ('alife', 5.7, [75.3] + [0.] * 13 + [
                0.3, 0.0, 0.0, 0.1, 14.4, 13.9, 27.8]),
            ('rcil', 20.2, [
                43.0, 59.9, 16.6, 63.8, 26.6, 41.8, 17.6, 56.0, 9.6, 5.6,
                14.8, 2.3, 2.8, 0.3, 7.8, 6.0, 1.3, 12.8, 4.2, 18.7, 6.1]),
            ('rcil_spwc', 24.2, [
                81.3, 54.4, 21.2, 47.3, 37.2, 52.0, 12.9, 54.1, 8.8, 10.4,
                25.1, 3.2, 3.7, 0.0, 11.3, 23.8, 5.5, 16.0, 14.5, 23.5,
                12.7]))
    })
scales = dict(small_search=None)  # that of the overlapped setting

# The paper's Grad-CAM of an easy and a hard class, VOC 10-1.
#   python tools/sweep.py configs/sweeps/paper/grad_cam.py
#   python tools/sweep.py configs/sweeps/paper/grad_cam.py --scale small
# and then, with `pip install grad-cam`,
#   python tools/analysis_tools/grad_cam.py work_dirs/sweeps/grad_cam/trials/rcil_spwc_10-1-overlapped_seed0
_base_ = './voc_10_1_overlapped.py'
_others = ('ewc', 'lwf', 'lwf_mc', 'ilt', 'mib', 'plop', 'alife', 'rcil')
methods = dict.fromkeys(_others)
paper = dict(
    _delete_=True,
    title='Grad-CAM of an easy and a hard class, VOC 2012, 10-1 overlapped',
    needs='VOC 2012 with SBD, weights of R-101; a GPU of more than 24 GB',
    says='The face of a cat is easy to find; a monitor is abstract, and a '
    'table is taken for the food on it.')
scales = dict(
    small=dict(methods=dict.fromkeys(
        (*_others, 'rcil_spwc_keep', 'rcil_spwc_authors'))),
    small_search=None, small_published=None)

# python tools/train.py configs/demo/rcil-spwc_shapes-6-1.py
# The paper's rule gives the well-known background no weight and it is lost
# here within a step; the weight of the authors' code keeps it.
_base_ = [
    '../_base_/settings/shapes_r18.py',
    '../_base_/scenarios/shapes_6-1_overlapped.py',
    '../_base_/methods/rcil_shapes.py',
    '../_base_/methods/spwc_authors_code.py',
]

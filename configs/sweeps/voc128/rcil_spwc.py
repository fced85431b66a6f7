_base_ = [
    './rcil.py',
    '../../_base_/methods/spwc.py',
]

# The paper's rule with the background left out of the units: it is the
# easiest of all, and would get the smallest weight or none.
_base_ = './spwc.py'
self_paced = dict(name='spWC (background kept)', background='keep')

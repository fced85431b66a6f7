# The paper's rule with the background left out of the units: it is the
# easiest of all, and would get the smallest weight or none.
self_paced = dict(
    name='spWC (background kept)', rule='spwc', k=15, background='keep')

# Self-paced weight consolidation, on top of any penalty: the harder half of
# the past tasks keeps a weight, the harder the larger. Half of them is what
# the paper's PS amounts to.
self_paced = dict(rule='spwc', age=dict(type='fraction', f=0.5))

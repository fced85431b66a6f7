# Self-paced weight consolidation, on top of any method: the k hardest old
# units keep a weight, the harder the larger.
self_paced = dict(rule='spwc', k=15)

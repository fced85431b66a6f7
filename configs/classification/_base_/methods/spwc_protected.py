# The same weights, but no task is left without one: an age above all
# accuracies here, the newest task in full, and the strength of plain EWC.
self_paced = dict(
    name='spWC (protected)',
    rule='spwc',
    age=dict(type='threshold', psi_star=0.99),
    protect_last=True,
    normalise='sum')

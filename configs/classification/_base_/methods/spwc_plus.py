# What gained on EWC where it forgets (docs/results/appendix/permuted_mnist_fashion.md):
# a task is hard once it falls below its own best, looked at while the next
# one is trained, so that the penalty goes to what is being forgotten. No
# task is left without a weight, the newest has it in full, and the sum is
# that of plain EWC. mu is the easiness of 90 % of the best.
self_paced = dict(
    name='spWC+',
    rule='spwc',
    mu=2.0723,
    relative=True,
    protect_last=True,
    min_weight=0.1,
    normalise='sum',
    update=dict(iters=20))

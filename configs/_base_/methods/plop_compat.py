# PLOP with the published code's double normalisation, its search for the
# median by bin index, and no weight for images without background.
_base_ = './plop.py'
method = dict(
    name='PLOP (published)',
    later=dict(
        model=dict(
            pseudo_label=dict(by_scenario={'default': dict(compat='plop')}))))

_base_ = './mib_ewf.py'
method = dict(
    name='MiB+EWF (Fisher)',
    every=dict(hooks=dict(fusion=dict(
        importance='mmseg_spwc.FisherImportance', n_samples=500))))

# BLIP: weights keep the bits that earlier tasks have earned. Heads are not
# quantised.
method = dict(
    name='BLIP',
    every=dict(
        hooks=dict(
            bits=dict(
                type='mmseg_spwc.BitPreservingHook',
                prior=1e-11,
                max_bits=20,
                n_samples=8000,
                exclude=['head.']))))

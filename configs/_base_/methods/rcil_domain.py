# RCIL for new domains, where every pixel has its label: cross entropy and
# pooled cubes alone, with the factors for Cityscapes.
_base_ = './rcil.py'
method = dict(
    later=dict(
        model=dict(
            losses=dict(
                pixel=dict(type='mmseg_spwc.PixelCrossEntropyLoss'),
                kd=None,
                cube=dict(
                    factor=5e-4,
                    last_factor=1e-4,
                    channel_factor=1e-4,
                    channel_last_factor=0.))),
        hooks=dict(transition=dict(classifier_init='default'))))

# Strengths of these fragments suit the MLP; *_survey.py are for SMALL VGG.
_base_ = '../../../_base_/consolidation/ewc.py'
method = dict(
    every=dict(
        hooks=dict(consolidation=dict(strength=100., n_samples=4000))))

_base_ = 'p_slow_base_offset.py'
method = dict(later=dict(
    hooks=dict(transition=dict(classifier_init='zero', share=None))))

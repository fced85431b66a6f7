# ADE20K, 60 epochs a step. Label 0 is void and stands for the background.
_base_ = './css_protocol.py'
scenario = dict(dataset='ade', name='100-50', setting='overlapped')
data_root = '{{$MMSEG_SPWC_DATA:data}}/ade/ADEChallengeData2016'
train_dataloader = dict(
    dataset=dict(
        type='mmseg_spwc.ADE20KWithVoid',
        data_prefix=dict(
            img_path='images/training', seg_map_path='annotations/training'),
        pipeline=_base_.train_pipeline))
test_dataloader = dict(
    dataset=dict(
        type='mmseg_spwc.ADE20KWithVoid',
        data_prefix=dict(
            img_path='images/validation',
            seg_map_path='annotations/validation'),
        pipeline=_base_.test_pipeline))
train_cfg = dict(max_epochs=60)

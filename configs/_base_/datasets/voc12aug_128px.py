# VOC scaled to a short side of 128 px: hours on a CPU.
_base_ = './voc12aug.py'
data_root = '{{$MMSEG_SPWC_DATA:data}}/voc128/VOCdevkit/VOC2012'
crop_size = 128
train_dataloader = dict(num_workers=2)
test_dataloader = dict(num_workers=2, batch_size=16)
total_batch_size = 16
train_cfg = dict(max_epochs=20)
optim_wrapper = dict(optimizer=dict(lr=0.02))
schedule = dict(
    later=dict(
        train_cfg=dict(max_epochs=10),
        optim_wrapper=dict(optimizer=dict(lr=0.002))))

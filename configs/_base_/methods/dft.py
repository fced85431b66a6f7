# DFT*: plain cross entropy on rows that were there from step 0 on; later steps
# train theirs alone, the network and the rows of old classes are frozen. The
# number of future classes is known. Rates are published for these scenarios;
# others have their dataset's.
method = dict(
    name='DFT*',
    every=dict(
        model=dict(
            allocate='all',
            losses=dict(
                pixel=dict(type='mmseg_spwc.PixelCrossEntropyLoss')))),
    first=dict(
        optim_wrapper=dict(
            optimizer=dict(lr=dict(by_scenario=dict(voc=0.02))))),
    later=dict(
        model=dict(train_only='new_rows'),
        optim_wrapper=dict(
            optimizer=dict(
                lr=dict(
                    by_scenario={
                        'voc 15-1': 0.0005,
                        'voc 10-1': 0.0005,
                        'voc 15-5': 0.02,
                        'voc 19-1': 0.005,
                        'ade': 0.1
                    })))))

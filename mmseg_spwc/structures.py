"""The labels of a whole batch of small images, as tensors."""
from collections.abc import Iterator

from torch import Tensor


class BatchSamples:
    """What MMPretrain keeps in one ``DataSample`` an image, for a batch.

    Building an object for every image costs more than training a small network
    on it. Whoever needs single samples iterates.
    """

    def __init__(self, gt_label: Tensor, task: Tensor,
                 pred_score: Tensor | None = None) -> None:
        self.gt_label = gt_label  # (B,)
        self.task = task  # (B,)
        self.pred_score = pred_score  # (B, C)

    def to(self, device, non_blocking: bool = False) -> 'BatchSamples':
        return BatchSamples(*(
            t if t is None else t.to(device, non_blocking=non_blocking)
            for t in (self.gt_label, self.task, self.pred_score)))

    def __len__(self) -> int:
        return len(self.gt_label)

    def __getitem__(self, index: int):
        """Return one image's labels as MMPretrain's ``DataSample``."""
        from mmpretrain.structures import DataSample
        sample = DataSample().set_gt_label(self.gt_label[index])
        sample.set_field(int(self.task[index]), 'task')
        if self.pred_score is not None:
            score = self.pred_score[index]
            sample.set_pred_score(score).set_pred_label(score.argmax())
        return sample

    def __iter__(self) -> Iterator:
        return (self[i] for i in range(len(self)))

"""Normalises whole batches of small images; it needs MMPretrain."""
from mmpretrain.models import ClsDataPreprocessor

from mmseg_spwc.registry import MODELS
from mmseg_spwc.structures import BatchSamples


@MODELS.register_module()
class BatchPreprocessor(ClsDataPreprocessor):
    """MMPretrain's preprocessor, which also takes a batch as one tensor.

    Lists of images and ``DataSample`` are handled as MMPretrain does. The
    labels of a batch in one tensor are moved to the device as they are.
    """

    def forward(self, data: dict, training: bool = False) -> dict:
        """Cast and normalise ``inputs`` (B, C, H, W), and move all to the
        device."""
        samples = data.get('data_samples')
        if not isinstance(samples, BatchSamples):
            return super().forward(data, training)
        inputs = super().forward(dict(inputs=data['inputs']))['inputs']
        return dict(
            inputs=inputs,
            data_samples=samples.to(self.device, non_blocking=True))

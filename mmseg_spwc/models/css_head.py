"""The DeepLabV3 head of the continual segmentation literature."""
import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from mmcv.cnn import build_norm_layer
from mmseg.models.decode_heads.decode_head import BaseDecodeHead
from torch import Tensor, nn

from mmseg_spwc.registry import MODELS


@MODELS.register_module()
class DeepLabV3CSSHead(BaseDecodeHead):
    """DeepLabV3 as MiB, PLOP, RCIL and spWC build it.

    It differs from :class:`mmseg.models.ASPPHead`: the parallel convolutions
    share **one** norm over their concatenation, the image-pooling branch is
    **added**, and there is neither a 3x3 bottleneck nor dropout::

        x --> conv_1 .. conv_4 -> cat -> norm, act -> 1x1 --(+)--> norm, act
          \\-> pool -> 1x1 -> norm, act -> 1x1 ------------/

    Training pools the whole map. Evaluation slides a window of at most
    ``pool_window`` over it and replicates the border back to full size, so
    that an image larger than the training crop is pooled over a region as
    large as the crop.

    Pooling leaves one value per image and channel, which batch norm cannot
    normalise for a single image: train with two or more images per process,
    or with SyncBN over several processes, and ``drop_last=True``.

    Args:
        channels: Channels of each branch and of the output.
        dilations: Dilation of each parallel convolution; 1 makes it 1x1,
            any other 3x3.
        pool_window: Largest side of the pooling window in evaluation.
        init_gain_slope: Slope s in the gain sqrt(2 / (1 + s^2)) of the
            Xavier-normal initialisation: 0.01 in MiB and PLOP, 1 (gain 1) in
            RCIL and spWC. Norms start at 1 and 0; the classifier keeps
            torch's default, and ``init_cfg`` comes last.
        act_slope: Slope of the activation for negative input.
        norm_cfg: Config of the norm layers; batch norm by default.
        **kwargs: Those of :class:`BaseDecodeHead`.
    """

    def __init__(self, in_channels: int = 2048, channels: int = 256,
                 dilations: Sequence[int] = (1, 6, 12, 18),
                 pool_window: int = 32, init_gain_slope: float = 0.01,
                 act_slope: float = 0.01, norm_cfg: dict | None = None,
                 dropout_ratio: float = 0.0,
                 init_cfg: dict | list | None = None, **kwargs) -> None:
        super().__init__(
            in_channels, channels, norm_cfg=norm_cfg or {'type': 'BN'},
            dropout_ratio=dropout_ratio, init_cfg=init_cfg, **kwargs)
        self.pool_window = pool_window
        self.init_gain = math.sqrt(2 / (1 + init_gain_slope**2))
        self.aspp_convs = nn.ModuleList(
            _conv(in_channels, channels, d) for d in dilations)
        self.aspp_norm = self._norm(channels * len(dilations))
        self.aspp_project = _conv(channels * len(dilations), channels)
        self.pool_conv = _conv(in_channels, channels)
        self.pool_norm = self._norm(channels)
        self.pool_project = _conv(channels, channels)
        self.out_norm = self._norm(channels)
        self.act = nn.LeakyReLU(act_slope, inplace=True)

    def _norm(self, channels: int) -> nn.Module:
        return build_norm_layer(self.norm_cfg, channels)[1]

    def init_weights(self) -> None:
        """Xavier-normal for every convolution but the classifier."""
        if not self.is_init:
            for part in (self.aspp_convs, self.aspp_project, self.pool_conv,
                         self.pool_project):
                for module in part.modules():
                    if isinstance(module, nn.Conv2d):
                        nn.init.xavier_normal_(module.weight, self.init_gain)
        super().init_weights()

    def rc_groups(self) -> list[tuple[list[str], str]]:
        """The parallel convolutions and the norm they share, for
        :mod:`mmseg_spwc.models.rc`."""
        convs = [f'aspp_convs.{i}' for i in range(len(self.aspp_convs))]
        return [(convs, 'aspp_norm')]

    def _forward_feature(self, inputs: Sequence[Tensor]) -> Tensor:
        x = self._transform_inputs(inputs)  # (B, C_in, H, W)
        out = torch.cat([conv(x) for conv in self.aspp_convs], dim=1)
        out = self.aspp_project(self.act(self.aspp_norm(out)))
        out = out + self._image_pool(x)
        return self.act(self.out_norm(out))  # (B, C, H, W)

    def _image_pool(self, x: Tensor) -> Tensor:
        size = x.shape[-2:]
        limit = max(size) if self.training else self.pool_window
        window = [min(limit, side) for side in size]
        pooled = F.avg_pool2d(x, window, stride=1)  # (B, C_in, h, w)
        try:
            pooled = self.pool_norm(self.pool_conv(pooled))
        except ValueError as error:
            raise ValueError(
                'The image-pooling branch of DeepLabV3CSSHead cannot '
                'batch-normalise a single image: train with a batch size of '
                'at least 2 per process and drop_last=True.') from error
        # all further layers are pointwise, so padding may come last
        return replicate_to(self.pool_project(self.act(pooled)), size)

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        """Compute the logits at the size of the backbone's map."""
        return self.cls_seg(self._forward_feature(inputs))


def replicate_to(x: Tensor, size: Sequence[int]) -> Tensor:
    """Centre a map in a larger one and repeat its border outwards, an odd
    surplus at the bottom and to the right."""
    high, wide = (side - have
                  for side, have in zip(size, x.shape[-2:], strict=True))
    padding = (wide // 2, wide - wide // 2, high // 2, high - high // 2)
    return F.pad(x, padding, mode='replicate')


def _conv(in_channels: int, channels: int, dilation: int = 1) -> nn.Conv2d:
    """1x1, or 3x3 with a dilation."""
    kernel, padding = (1, 0) if dilation == 1 else (3, dilation)
    return nn.Conv2d(in_channels, channels, kernel, padding=padding,
                     dilation=dilation, bias=False)

"""The multilayer perceptron of Permuted MNIST."""
from collections.abc import Sequence

from mmengine.model import BaseModule
from torch import Tensor, nn

from mmseg_spwc.registry import MODELS


@MODELS.register_module()
class MLPBackbone(BaseModule):
    """Linear layers with ReLU on the flattened image.

    The defaults are the network of spWC and of van de Ven's scenarios for
    images padded to 32 x 32: 570 400 parameters without a head.

    Args:
        in_features (int): Numbers in an image. Defaults to 1024.
        hidden (Sequence[int]): Sizes of the layers. Defaults to (400, 400).
        dropout (float): Share of activations dropped after every layer.
            Defaults to 0.
        init_cfg (dict, optional): MMEngine's initialisation. Defaults to
            None, torch's own.
    """

    def __init__(self,
                 in_features: int = 1024,
                 hidden: Sequence[int] = (400, 400),
                 dropout: float = 0.,
                 init_cfg: dict | None = None) -> None:
        super().__init__(init_cfg)
        self.in_features = in_features
        layers = []
        for size in hidden:
            layers += [nn.Linear(in_features, size), nn.ReLU()]
            if dropout:
                layers.append(nn.Dropout(dropout))
            in_features = size
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> tuple[Tensor]:
        """Map images (B, ...) to features ((B, hidden[-1]),)."""
        flat = x.flatten(1)
        if flat.shape[1] != self.in_features:
            raise ValueError(
                f'The images {tuple(x.shape[1:])} hold {flat.shape[1]} '
                f'numbers: set in_features, which is {self.in_features}.')
        return (self.layers(flat), )

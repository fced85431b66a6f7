"""Rotations that can be learnt, by the Cayley transform."""
import torch
from torch import Tensor, nn


def cayley(skew: Tensor) -> Tensor:
    r"""Rotation :math:`R = (I - A)(I + A)^{-1}` of a skew matrix A.

    :math:`I + A` is invertible for every skew A, R is orthogonal with
    determinant 1, and A = 0 gives the identity.

    Args:
        skew (Tensor): Skew-symmetric matrices, (..., D, D).

    Returns:
        Tensor: Rotations, (..., D, D).
    """
    identity = torch.eye(skew.shape[-1], dtype=skew.dtype, device=skew.device)
    # both factors are functions of A, so their order does not matter
    return torch.linalg.solve(identity + skew, identity - skew)


class CayleyRotations(nn.Module):
    """One learnt rotation of D-dimensional features for every class.

    A rotation has D (D - 1) / 2 parameters, the part of its skew matrix
    above the diagonal. All start as the identity.

    Args:
        num_classes (int): Number of rotations K.
        dim (int): Dimension D of the features.
    """

    def __init__(self, num_classes: int, dim: int) -> None:
        super().__init__()
        if num_classes < 1 or dim < 1:
            raise ValueError('expected at least one class and one dimension, '
                             f'got {num_classes} and {dim}')
        self.dim = dim
        self.upper = nn.Parameter(
            torch.zeros(num_classes, dim * (dim - 1) // 2))
        self.register_buffer(
            'above', torch.triu_indices(dim, dim, 1), persistent=False)

    def matrices(self) -> Tensor:
        """The rotations, (K, D, D)."""
        half = self.upper.new_zeros(len(self.upper), self.dim, self.dim)
        half[:, self.above[0], self.above[1]] = self.upper
        return cayley(half - half.mT)

    def forward(self, features: Tensor) -> Tensor:
        """Rotate the features (K, N, D) of every class by its rotation."""
        return features @ self.matrices().mT

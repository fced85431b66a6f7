"""Networks whose convolutions are doubled, and what is done with them."""
import torch
from mmseg.models.backbones import MobileNetV2, ResNet
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm


class SharedNorm(nn.Module):
    """Two convolutions under one norm, beside a pair of its own."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
        self.wide = nn.ModuleList(
            [nn.Conv2d(4, 2, 1),
             nn.Conv2d(4, 3, 3, padding=1)])
        self.norm = nn.BatchNorm2d(5)

    def rc_groups(self):
        return [(['wide.0', 'wide.1'], 'norm')]

    def forward(self, x):
        x = self.stem(x)
        return self.norm(torch.cat([conv(x) for conv in self.wide], dim=1))


def resnet(depth):
    return ResNet(depth, stem_channels=4, base_channels=4)


NETWORKS = {
    'basic_block': (lambda: resnet(18), r'\.conv[12]$'),
    'bottleneck': (lambda: resnet(50), r'\.conv2$'),
    'conv_module': (lambda: MobileNetV2(widen_factor=.25), r'conv\.1\.conv$'),
    'shared_norm': (SharedNorm, 'wide'),
    'all': (SharedNorm, None),
}


def network(name):
    """A network with statistics of some past, in eval mode, and a match."""
    torch.manual_seed(0)
    build, match = NETWORKS[name]
    net = build()
    net.eval()
    randomise(net)
    return net, match


@torch.no_grad()
def randomise(net):
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d):
            layer.weight += 0.05 * torch.randn_like(layer.weight)
        if isinstance(layer, _BatchNorm):
            layer.weight.normal_()
            layer.bias.normal_()
            layer.running_mean.normal_()
            layer.running_var.uniform_(0.5, 2)


def run(net, size=32):
    torch.manual_seed(1)
    with torch.no_grad():
        out = net(torch.randn(2, 3, size, size))
    return out[-1] if isinstance(out, tuple) else out


def assert_near(got, expected):
    assert (got - expected).norm() < 1e-5 * expected.norm()

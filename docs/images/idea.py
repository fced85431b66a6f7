"""Draw docs/images/idea.png: from scores to priority weights.

    python docs/images/idea.py
"""
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use('Agg')
from matplotlib import pyplot as plt  # noqa: E402

from mmseg_spwc.selfpaced import difficulty, priority_weights  # noqa: E402

NAMES = ('cat', 'bus', 'sheep', 'sofa', 'chair')
PSI = np.array([.86, .80, .63, .41, .18])
K = 3


def main() -> None:
    psi = np.linspace(0, .95, 200)
    mu = np.sort(difficulty(PSI).numpy())[K]
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.6), layout='constrained')
    colours = matplotlib.colormaps['viridis'](np.linspace(.1, .85, len(PSI)))
    axes[0].bar(NAMES, PSI, color=colours)
    axes[0].set(title='1. score the old classes', ylabel='IoU $\\psi$ now',
                ylim=(0, 1))
    axes[1].plot(psi, difficulty(psi), color='0.4')
    axes[1].scatter(PSI, difficulty(PSI), color=colours, zorder=3)
    axes[1].axhline(mu, ls=':', color='crimson')
    axes[1].text(.02, mu + .05, 'age $\\mu$', color='crimson')
    axes[1].set(title='2. easiness $\\eta=-\\psi\\,\\ln(1-\\psi)$',
                xlabel='$\\psi$', ylim=(0, 2.2))
    axes[2].bar(NAMES, priority_weights(PSI, k=K), color=colours)
    axes[2].set(title='3. weight $v=\\sqrt{(1-\\eta/\\mu)_+}$',
                ylabel='hold on to it by', ylim=(0, 1))
    for axis in (axes[0], axes[2]):
        axis.tick_params(axis='x', labelrotation=30)
    figure.savefig(Path(__file__).with_name('idea.png'), dpi=150)


if __name__ == '__main__':
    main()

"""Packaging of mmseg_spwc in the OpenMMLab manner."""
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).resolve().parent


def read_version() -> str:
    scope: dict = {}
    exec((ROOT / 'mmseg_spwc/version.py').read_text(), scope)
    return scope['__version__']


def requirements(name: str) -> list:
    lines = (ROOT / 'requirements' / f'{name}.txt').read_text().splitlines()
    return [line for line in lines if line and not line.startswith('#')]


if __name__ == '__main__':
    setup(
        name='mmseg_spwc',
        version=read_version(),
        description='Continual learning for MMSegmentation and MMPretrain: '
        'self-paced weight consolidation and its peers',
        long_description=(ROOT / 'README.md').read_text(encoding='utf-8'),
        long_description_content_type='text/markdown',
        license='Apache-2.0',
        python_requires='>=3.10,<3.14',
        packages=find_packages(include=('mmseg_spwc', 'mmseg_spwc.*')),
        package_data={
            # links to configs/, tools/ and model-index.yml, so that a wheel
            # carries them as OpenMMLab's do
            'mmseg_spwc': [
                '*.json', '.mim/model-index.yml', '.mim/configs/**/*.py',
                '.mim/configs/**/*.yml', '.mim/tools/**/*.py',
                '.mim/tools/**/*.sh'
            ],
            'mmseg_spwc.scenario': ['catalogue.json'],
            'mmseg_spwc.visualization.report': ['templates/*'],
        },
        # torch and mmcv are the user's choice (CPU or CUDA build, lite or
        # full); mmseg_spwc.compat says which one is missing
        install_requires=requirements('runtime'),
        extras_require={
            'cls': requirements('cls'),
            'optional': requirements('optional'),
            'ray': requirements('ray'),
            'tests': requirements('tests'),
            'trackers': requirements('trackers'),
            'web': requirements('web'),
        },
        entry_points={
            'console_scripts': ['mmseg-spwc=mmseg_spwc.cli:main'],
        },
        zip_safe=False)

"""Scripts of the project as modules, which no package holds."""
import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]


def load(path: str) -> ModuleType:
    """Load a script by its path below the project's folder."""
    spec = importlib.util.spec_from_file_location(
        f'script_{Path(path).stem}', ROOT / path)  # not run: not __main__
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

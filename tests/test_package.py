"""The wheel, installed with the dependencies it declares in an empty environment, used outside of the repository."""

import json
import os
import shutil
import subprocess
import sys
import urllib.request
import venv
from pathlib import Path

import pytest

from tests.browser.conftest import Server
from tests.conftest import ROOT

# Installing takes 40 s of computing, downloads of a first run not counted.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

# The interpreter, libraries and settings of the environment the tests run in must not be found.
_NOT_PASSED_ON = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of an environment that has the wheel and what pip installed for it, and nothing else."""
    folder = tmp_path_factory.mktemp("package")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", str(ROOT), "--wheel-dir", str(folder)]
    subprocess.run([*pip, *build], check=True, cwd=folder)
    (wheel,) = folder.glob("bagtag-*.whl")
    venv.create(folder / "venv", symlinks=os.name != "nt")
    commands = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    into = ["--python", str(commands / "python"), "install", "--quiet", "--no-compile"]
    subprocess.run([*pip, *into, "--constraint", str(ROOT / "constraints.txt"), str(wheel)], check=True, cwd=folder)
    (package,) = (folder / "venv").rglob("site-packages/miml_core")
    _copy_compiled_kernels(package)
    return commands


def _copy_compiled_kernels(package: Path) -> None:
    """Copy the kernels that are compiled here, but for those of the posterior: compiling all takes a minute.

    Numba accepts them for sources of the same name, size and time.
    """
    for source in (ROOT / "miml_core").rglob("*_kernels.py"):
        target = package / source.relative_to(ROOT / "miml_core")
        assert source.read_bytes() == target.read_bytes()
        if source.stem == "posterior_kernels":
            continue
        shutil.copystat(source, target)
        (target.parent / "__pycache__").mkdir(exist_ok=True)
        for compiled in (source.parent / "__pycache__").glob(f"{source.stem}.*.nb[ic]"):
            shutil.copy2(compiled, target.parent / "__pycache__")


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}


def run(installed: Path, *words: str, cwd: Path) -> str:
    command = [str(installed / words[0]), *words[1:]]
    done = subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_library_is_found_in_the_environment_alone(installed, tmp_path):
    code = "import sys; from miml_core import BagSet, __file__; print(__file__, BagSet.__module__, *sys.path)"
    file, module, *paths = run(installed, "python", "-c", code, cwd=tmp_path).split()
    home = str(installed.parent)
    assert file.startswith(home) and module == "miml_core.bags"
    assert [path for path in paths if "site-packages" in path and not path.startswith(home)] == []


def test_nothing_but_the_app_and_the_library_is_at_the_top(installed, tmp_path):
    code = "from importlib.metadata import files; print(*{path.parts[0] for path in files('bagtag')})"
    tops = run(installed, "python", "-c", code, cwd=tmp_path).split()
    assert {top for top in tops if top != ".." and not top.startswith("bagtag-")} == {"bagtag_app", "miml_core"}


def test_the_command_makes_the_demo_anywhere(installed, tmp_path):
    made = json.loads(run(installed, "bagtag", "demo", "birds", "--json", cwd=tmp_path))["sound"]
    status = json.loads(run(installed, "bagtag", "status", "birds", "--json", cwd=tmp_path))
    assert (tmp_path / "birds" / "project.db").is_file()
    assert list(installed.parent.rglob("posterior_kernels.*.nbi")), "the installed package compiles kernels"
    assert status["progress"]["n_segmented"] == made["bags"] >= 50 and made["scores"]["accuracy"] >= 0.9


def test_the_app_opens_from_anywhere(installed, tmp_path):
    class Installed(Server):
        """The app as the console script starts it."""

        def command(self) -> list[str]:
            return [str(installed / "bagtag"), "app", "--no-browser", f"--port={self.port}"]

    env = {"BAGTAG_HOME": str(tmp_path / "home"), **dict.fromkeys(_NOT_PASSED_ON, "")}
    server = Installed(tmp_path, env, tmp_path / "server.log")
    server.cwd = tmp_path
    try:
        server.start()
        with urllib.request.urlopen(server.url, timeout=60) as page:
            assert b"<title>" in page.read()
    finally:
        server.kill()


def test_the_first_page_has_all_it_needs(installed, tmp_path):
    code = (
        "import sys; from miml_core.commands.app import app_script; from streamlit.testing.v1 import AppTest;"
        "folder = app_script().parent; sys.path.insert(0, str(folder));"
        "app = AppTest.from_file(str(folder / 'pages' / 'shell.py'), default_timeout=300).run();"
        "print(len(app.exception), len(app.button))"
    )
    errors, buttons = run(installed, "python", "-c", code, cwd=tmp_path).split()
    assert errors == "0" and int(buttons) > 3

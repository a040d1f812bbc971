"""The wheel, installed in an environment of its declared dependencies and nothing else, used outside of the repository.

Pip would unpack 400 MB of them into every new environment. They are linked instead: each distribution that the wheel
declares, directly or through another one, in the version that is installed here, which must be one that is allowed.
"""

import json
import os
import shutil
import subprocess
import sys
import urllib.request
import venv
from email import message_from_bytes
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

from tests.browser.conftest import Server
from tests.conftest import PATIENCE, ROOT

pytestmark = pytest.mark.slow

# The interpreter, libraries and settings of the environment the tests run in must not be found.
_NOT_PASSED_ON = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")
_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
_COMPILED_THERE = "features/visual_kernels"
_PICTURES = 12


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", str(ROOT), "--wheel-dir", str(folder)]
    subprocess.run([*_PIP, *build], check=True, cwd=folder)
    (made,) = folder.glob("bagtag-*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of an environment that has the wheel and what it declares, and nothing else."""
    folder = tmp_path_factory.mktemp("package") / "venv"
    venv.create(folder, symlinks=os.name != "nt")
    commands = folder / ("Scripts" if os.name == "nt" else "bin")
    into = ["--python", str(commands / "python"), "install", "--quiet", "--no-compile", "--no-deps"]
    subprocess.run([*_PIP, *into, str(wheel)], check=True, cwd=folder)
    (package,) = folder.rglob("site-packages/miml_core")
    for name in declared_distributions(wheel):
        _link(name, package.parent)
    _copy_compiled_kernels(package)
    return commands


def declared_distributions(wheel: Path) -> set[str]:
    """Return the names of all distributions that pip would install for the wheel; each is installed here as allowed."""
    with ZipFile(wheel) as files:
        (name,) = (name for name in files.namelist() if name.endswith(".dist-info/METADATA"))
        declared = message_from_bytes(files.read(name)).get_all("Requires-Dist", [])
    asked = [(Requirement(text), "") for text in declared]
    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    while asked:
        requirement, extra = asked.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        version = distribution(requirement.name).version
        assert requirement.specifier.contains(version, prereleases=True), f"{requirement}: {version} is installed"
        found.add(requirement.name)
        for wanted in {"", *requirement.extras}:
            if (requirement.name, wanted) not in seen:
                seen.add((requirement.name, wanted))
                asked += [(Requirement(text), wanted) for text in distribution(requirement.name).requires or []]
    return found


def _link(name: str, target: Path) -> None:
    """Put a distribution that is installed here into another environment's folder of packages."""
    there = distribution(name)
    tops = {path.parts[0] for path in there.files or [] if path.parts[0] not in ("..", "__pycache__")}
    assert tops, f"{name} lists no files"
    for top in tops:
        if not (target / top).exists():
            (target / top).symlink_to(Path(there.locate_file(top)))


def _copy_compiled_kernels(package: Path) -> None:
    """Copy the kernels that are compiled here, but for those of the pictures' features: compiling all takes a minute.

    Numba accepts them for sources of the same name, size and time.
    """
    for source in (ROOT / "miml_core").rglob("*_kernels.py"):
        target = package / source.relative_to(ROOT / "miml_core")
        assert source.read_bytes() == target.read_bytes()
        if source.parent.name + "/" + source.stem == _COMPILED_THERE:
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


def test_a_package_that_is_not_declared_is_not_there(installed, wheel, tmp_path):
    code = "from importlib.metadata import distributions; print(*{one.metadata['Name'] for one in distributions()})"
    there = {_same_name(name) for name in run(installed, "python", "-c", code, cwd=tmp_path).split()}
    assert there == {"bagtag", *map(_same_name, declared_distributions(wheel))}
    assert "pytest" not in there and "streamlit" in there


def _same_name(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def test_the_command_makes_the_demo_anywhere(installed, tmp_path):
    """The demo of fewer pictures: `tests/demo` makes the whole one and checks what it shows."""
    (package,) = installed.parent.rglob("site-packages/miml_core")
    fewer = package.parent / "sitecustomize.py"  # read at the start of the command and of the processes of its jobs
    fewer.write_text(f"import miml_core.demo.media as media\nmedia.COUNT['picture'] = {_PICTURES}\n")
    made = json.loads(run(installed, "bagtag", "demo", "demo", "--kind", "picture", "--json", cwd=tmp_path))["picture"]
    status = json.loads(run(installed, "bagtag", "status", "demo", "--json", cwd=tmp_path))
    fewer.unlink()
    assert (tmp_path / "demo" / "project.db").is_file()
    compiled = installed.parent.rglob(f"{_COMPILED_THERE.replace('/', '/__pycache__/')}.*.nbi")
    assert list(compiled), "the installed package compiles kernels"
    assert status["progress"]["n_segmented"] == made["bags"] == _PICTURES
    assert made["scores"]["accuracy"] > made["scores"]["majority_tag"]


def test_the_app_opens_from_anywhere_and_imports_nothing_from_there(installed, tmp_path):
    (tmp_path / "pages").mkdir()
    for name in ("queue.py", "streamlit.py", "miml_core.py", "pages/__init__.py"):
        (tmp_path / name).write_text("from pathlib import Path; Path(__file__).with_suffix('.imported').touch()")

    class Installed(Server):
        """The app as the console script starts it."""

        def command(self) -> list[str]:
            return [str(installed / "bagtag"), "app", "--no-browser", f"--port={self.port}"]

    env = {"BAGTAG_HOME": str(tmp_path / "home"), **dict.fromkeys(_NOT_PASSED_ON, "")}
    server = Installed(tmp_path, env, tmp_path / "server.log")
    server.cwd = tmp_path
    try:
        server.start()
        with urllib.request.urlopen(server.url, timeout=PATIENCE) as page:
            assert b"<title>" in page.read()
    finally:
        server.kill()
    assert list(tmp_path.rglob("*.imported")) == []


def test_the_first_page_has_all_it_needs(installed, tmp_path):
    code = (
        "import sys; from miml_core.commands.app import app_script; from streamlit.testing.v1 import AppTest;"
        "folder = app_script().parent; sys.path.insert(0, str(folder));"
        "app = AppTest.from_file(str(folder / 'pages' / 'shell.py'), default_timeout=300).run();"
        "print(len(app.exception), len(app.button))"
    )
    errors, buttons = run(installed, "python", "-c", code, cwd=tmp_path).split()
    assert errors == "0" and int(buttons) > 3

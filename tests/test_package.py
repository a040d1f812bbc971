"""The wheel, installed in another environment and used from another folder."""

import json
import os
import subprocess
import sys
import sysconfig
import urllib.request
import venv
from pathlib import Path

import pytest

from tests.browser.conftest import Server
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment that has the wheel, and the dependencies of this one."""
    folder = tmp_path_factory.mktemp("package")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", str(ROOT)]
    subprocess.run([*build, "--wheel-dir", str(folder)], check=True, cwd=folder)
    (wheel,) = folder.glob("bagtag-*.whl")
    venv.create(folder / "venv", with_pip=True, symlinks=True)
    bin_folder = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    install = [str(bin_folder / "python"), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True, cwd=folder)
    scheme = {"base": str(folder / "venv"), "platbase": str(folder / "venv")}
    site = Path(sysconfig.get_path("purelib", "venv", vars=scheme))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return bin_folder


def run(installed: Path, *words: str, cwd: Path) -> str:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([str(installed / words[0]), *words[1:]], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_library_is_installed_and_nothing_else_at_the_top(installed, tmp_path):
    where = run(installed, "python", "-c", "from miml_core import BagSet; print(BagSet.__module__)", cwd=tmp_path)
    assert where.strip() == "miml_core.bags"
    listed = run(installed, "python", "-m", "pip", "show", "--files", "bagtag", cwd=tmp_path)
    tops = {line.strip().split("/")[0] for line in listed.partition("Files:")[2].splitlines() if line.strip()}
    assert {top for top in tops if not top.startswith(("..", "bagtag-"))} == {"bagtag_app", "miml_core"}


def test_the_command_makes_a_project_anywhere(installed, tmp_path):
    made = json.loads(run(installed, "bagtag", "new", "marsh", "--kind", "sound", "--json", cwd=tmp_path))
    assert (tmp_path / "marsh" / "project.db").is_file()
    status = json.loads(run(installed, "bagtag", "status", "marsh", "--json", cwd=tmp_path))
    assert status["name"] == "marsh" and made


@pytest.mark.slow
def test_the_app_opens_from_anywhere(installed, tmp_path):
    class Installed(Server):
        """The app as the console script starts it."""

        def command(self) -> list[str]:
            return [str(installed / "bagtag"), "app", "--no-browser", f"--port={self.port}"]

    home = {"BAGTAG_HOME": str(tmp_path / "home"), "PYTHONPATH": ""}
    server = Installed(tmp_path, home, tmp_path / "server.log")
    server.cwd = tmp_path
    try:
        server.start()
        with urllib.request.urlopen(server.url, timeout=30) as page:
            assert b"<title>" in page.read()
    finally:
        server.kill()

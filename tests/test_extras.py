"""How optional dependencies are installed."""

import pytest

from miml_core import extras
from miml_core.extras import install_command


@pytest.mark.parametrize("extra", ["birdnet", "cluster"])
def test_the_command_is_that_of_the_checkout_or_of_the_package(extra, monkeypatch, tmp_path):
    assert install_command(extra) == f"make {extra}"
    monkeypatch.setattr(extras, "__file__", str(tmp_path / "site-packages" / "miml_core" / "extras.py"))
    assert install_command(extra) == f"pip install 'bagtag[{extra}]'"

"""The cluster on the cores of this computer."""

from __future__ import annotations

import socket
import warnings
from collections.abc import Iterator

import pytest

from miml_core.archive import cluster


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Return a port that another program listens on, and make it the port of Dask's dashboard."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        monkeypatch.setattr(cluster, "_DASHBOARD", f"127.0.0.1:{port}")
        yield port


def test_a_dashboard_whose_port_is_taken_has_another_address_and_warns_of_nothing(taken: int) -> None:
    pytest.importorskip("distributed")
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        with cluster.connect(workers=1) as client:
            address = client.dashboard_link
    assert not [str(one.message) for one in issued if "Port" in str(one.message)]
    assert address.startswith("http://127.0.0.1:") and f":{taken}/" not in address

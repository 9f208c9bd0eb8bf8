"""What somebody is told who did not install the extra `review`."""

from __future__ import annotations

import subprocess
import sys

import pytest

_WITHOUT_SQLALCHEMY = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "sqlalchemy":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from spanwitness.cli.app import main
main()
"""


@pytest.mark.parametrize("arguments", [["review", "list"], ["check", "--queue", "Q", "."]])
def test_the_extra_is_named(arguments, tmp_path):
    address = f"sqlite:///{tmp_path}/queue.db"
    given = [address if one == "Q" else one for one in arguments]
    ended = subprocess.run(
        [sys.executable, "-c", _WITHOUT_SQLALCHEMY, *given],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert "pip install 'spanwitness[review]'" in ended.stderr
    assert "Traceback" not in ended.stderr

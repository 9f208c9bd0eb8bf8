"""Requests on disk: what an earlier process left is read, what is not needed goes."""

from __future__ import annotations

import pytest

from spanwitness.errors import SettingsError
from spanwitness.serve.spool import Spool


def reopened(spool, folder, **more):
    spool.close()
    return Spool(folder, **more)


def replayed(spool):
    found = []

    def take(request):
        found.append(request)
        return {request.body.decode()[:1]}

    assert spool.replay(take) == len(found)
    return found


def test_what_was_written_is_read_by_the_next_process(tmp_path):
    spool = Spool(tmp_path)
    spool.append("json", b"a1", {"a"})
    spool.append("protobuf", b"b1", {"b"})
    spool = reopened(spool, tmp_path)
    assert replayed(spool) == [("json", b"a1"), ("protobuf", b"b1")]
    spool.append("json", b"c1", {"c"})
    spool = reopened(spool, tmp_path)
    assert [body for _, body in replayed(spool)] == [b"a1", b"b1", b"c1"]
    spool.close()


def test_files_of_which_nothing_is_held_are_deleted(tmp_path):
    spool = Spool(tmp_path)
    spool.append("json", b"a1", {"a"})
    spool.append("json", b"b1", {"b"})
    spool.release({"a"}.__contains__)
    assert spool.size_bytes > 0
    spool.release(set().__contains__)
    assert spool.size_bytes == 0
    assert list(tmp_path.glob("*.spool")) == []
    spool.append("json", b"c1", {"c"})
    spool = reopened(spool, tmp_path)
    assert [body for _, body in replayed(spool)] == [b"c1"]
    spool.close()


@pytest.mark.parametrize("cut", [1, 5, 12, 14])
def test_a_request_that_was_being_written_when_the_process_was_killed_is_left_out(tmp_path, cut):
    spool = Spool(tmp_path)
    spool.append("json", b"a1", {"a"})
    spool.append("json", b"b1", {"b"})
    spool.close()
    (path,) = tmp_path.glob("*.spool")
    path.write_bytes(path.read_bytes()[:-cut])
    spool = Spool(tmp_path)
    assert [body for _, body in replayed(spool)] == [b"a1"]
    assert spool.n_damaged == 1
    # What comes now goes to a file of its own, not behind the damage.
    spool.append("json", b"c1", {"c"})
    spool = reopened(spool, tmp_path)
    assert [body for _, body in replayed(spool)] == [b"a1", b"c1"]
    spool.close()


def test_a_changed_request_is_not_believed(tmp_path):
    spool = Spool(tmp_path)
    spool.append("json", b"a1", {"a"})
    spool.close()
    (path,) = tmp_path.glob("*.spool")
    path.write_bytes(path.read_bytes()[:-1] + b"9")
    spool = Spool(tmp_path)
    assert replayed(spool) == []
    assert spool.n_damaged == 1
    spool.close()


def test_a_crowded_spool_keeps_what_is_held_and_shrinks(tmp_path):
    spool = Spool(tmp_path, max_bytes=20_000_000)
    spool.append("json", b"a" + b" " * 9_000_000, {"a", "x"})
    spool.append("json", b"b" + b" " * 9_000_000, {"b"})
    assert spool.crowded() == set()
    spool.append("json", b"c" + b" " * 9_000_000, {"c"})
    assert spool.crowded() == {"a", "x"}
    spool.append("json", b"a again", {"a"})
    spool.drop_oldest()
    assert spool.crowded() == set()
    spool = reopened(spool, tmp_path)
    assert [body.split()[0] for _, body in replayed(spool)] == [b"b", b"c", b"a"]
    spool.close()


def test_two_processes_cannot_use_one_spool(tmp_path):
    spool = Spool(tmp_path)
    with pytest.raises(SettingsError, match="does another `spanwitness serve` use it"):
        Spool(tmp_path)
    spool.close()
    Spool(tmp_path).close()


def test_only_its_owner_may_read_a_spool(tmp_path):
    folder = tmp_path / "spool"
    spool = Spool(folder)
    spool.append("json", b"a1", {"a"})
    assert folder.stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir())
    spool.close()

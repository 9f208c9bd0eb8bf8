"""The file of destinations."""

from __future__ import annotations

import pytest

from spanwitness.errors import SettingsError
from spanwitness.review.outbound.settings import read_outbound

GOOD = """
webhooks:
  - name: pager
    url: https://hooks.example.com/x
    secrets: [whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw]
    topics: [item.opened]
feedback:
  - {kind: phoenix, name: phoenix, url: "http://localhost:6006"}
  - {kind: langfuse, name: lf, url: "https://lf.example.com", public_key: pk, secret_key: sk}
  - {kind: otlp, name: collector, endpoint: "http://localhost:4318/v1/traces"}
retry: {max_attempts: 3}
"""


def written(tmp_path, text, mode=0o600):
    path = tmp_path / "outbound.yaml"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_file_is_read(tmp_path):
    found = read_outbound(written(tmp_path, GOOD))
    assert [each.kind for each in found.feedback] == ["phoenix", "langfuse", "otlp"]
    assert found.retry.max_attempts == 3
    assert "MfKQ9r8" not in repr(found)
    assert read_outbound(written(tmp_path, "")).webhooks == ()


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_file_that_others_may_read_is_refused(tmp_path, mode):
    with pytest.raises(SettingsError, match="chmod 600"):
        read_outbound(written(tmp_path, GOOD, mode))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("webhooks: [", "no YAML"),
        ("webhook: []", "webhook: Extra inputs"),
        (GOOD.replace("pager", "pa ger"), r"webhooks\.0\.name"),
        (GOOD.replace("[whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw]", "[]"), r"webhooks\.0\.secrets"),
        (GOOD.replace("kind: otlp", "kind: smoke"), r"feedback\.2"),
        (GOOD.replace("name: lf", "name: pager"), "stands twice"),
        (GOOD.replace("max_attempts: 3", "max_attempts: 0"), r"retry\.max_attempts"),
        ("- x", "valid dictionary|instance of"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_place_and_without_its_secrets(
    tmp_path, text, told
):
    with pytest.raises(SettingsError, match=told) as error:
        read_outbound(written(tmp_path, text))
    assert "outbound.yaml" in str(error.value)
    assert "MfKQ9r8" not in str(error.value)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(SettingsError, match="cannot be read"):
        read_outbound(tmp_path / "none.yaml")

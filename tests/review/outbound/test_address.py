"""Which addresses may be called, and that the checked one is the one that is called."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from spanwitness.errors import SettingsError
from spanwitness.review.outbound.address import AddressRefusedError, check_url, is_public, pin


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0",
        "100.64.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1",
        "::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::", "2002:a00:1::", "2001:0:0:0:0:0:80ff:fffe",
        "fec0::1", "64:ff9b:1::808:808", "::127.0.0.1", "fe80::1%1",
    ],
)  # fmt: skip
def test_an_address_of_this_machine_or_a_private_network_is_not_public(text):
    assert not is_public(ip_address(text))


@pytest.mark.parametrize(
    "text", ["93.184.215.14", "1.1.1.1", "2606:4700::1111", "64:ff9b::101:101"]
)
def test_an_address_of_the_open_internet_is_public(text):
    assert is_public(ip_address(text))


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://hooks.example.com/x", "starts with https"),
        ("ftp://hooks.example.com/x", "starts with https"),
        ("https:///x", "starts with https"),
        ("https://user:pass@hooks.example.com/x", "leave user and password out"),
        ("https://127.0.0.1/x", "not public"),
        ("https://[::1]/x", "not public"),
        ("https://169.254.169.254/latest/meta-data", "not public"),
    ],
)
def test_a_url_that_may_never_be_called_is_refused_at_set_up(url, told):
    with pytest.raises(SettingsError, match=told) as error:
        check_url(url, is_private_allowed=False, is_http_allowed=False)
    assert "pass" not in str(error.value).replace("password", "")


async def test_the_checked_address_stands_in_the_url_that_is_called():
    asked = []

    async def look_up(host, port):
        asked.append((host, port))
        return ["93.184.215.14", "93.184.215.15"]

    pinned = await pin(
        "https://hooks.example.com:8443/a?b=c", is_private_allowed=False, look_up=look_up
    )
    assert pinned.url == "https://93.184.215.14:8443/a?b=c"
    assert pinned.host_header == "hooks.example.com:8443"
    assert pinned.server_name == "hooks.example.com"
    assert asked == [("hooks.example.com", 8443)]


@pytest.mark.parametrize("found", [["10.0.0.7"], ["93.184.215.14", "127.0.0.1"], ["::1"]])
async def test_a_name_that_leads_to_a_private_address_is_refused(found):
    async def look_up(host, port):
        return found

    with pytest.raises(AddressRefusedError, match="not public"):
        await pin("https://hooks.example.com/", is_private_allowed=False, look_up=look_up)
    assert await pin("https://hooks.example.com/", is_private_allowed=True, look_up=look_up)


async def test_an_address_of_version_six_is_written_in_brackets():
    async def look_up(host, port):
        return ["2606:4700::1111"]

    pinned = await pin("https://hooks.example.com/x", is_private_allowed=False, look_up=look_up)
    assert pinned.url == "https://[2606:4700::1111]:443/x"

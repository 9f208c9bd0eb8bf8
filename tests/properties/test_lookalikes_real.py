"""The same look-alikes on real SDKs and a scripted provider, judged live and from the stored file.

`Stage.play` also compares what the live detector said with what the stored trace gives.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.catalogue.kit import assert_clean
from tests.catalogue.surfaces import ASYNC, ASYNC_STREAMED, STREAMED, WHOLE
from tests.properties.lives import LIVES, as_case

SURFACES = st.sampled_from([*WHOLE, *STREAMED, *ASYNC, *ASYNC_STREAMED])
CONTENT = st.sampled_from(["on", "off"])


@pytest.mark.parametrize("life", LIVES.values(), ids=LIVES)
@settings(settings.get_profile("properties"), max_examples=6)
@given(data=st.data(), surface=SURFACES, content=CONTENT)
def test_a_normal_life_on_a_real_sdk_is_not_flagged(stage, life, data, surface, content):
    assert_clean(stage, as_case(data.draw(life)), surface, content=content)

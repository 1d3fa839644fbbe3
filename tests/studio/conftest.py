"""A studio that the tests of a module share."""

import pytest

from tests.support.browser import chromium, studio_page  # noqa: F401 (the fixtures "browser" and "page")
from tests.support.studio_helpers import studio_in_thread


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    with studio_in_thread(tmp_path_factory.mktemp("studio")) as client:
        yield client

"""Every registered method against every law, without anyone asking."""

import pytest

from finegold.checks import LAWS
from finegold.methods.lookup import method_class
from finegold.methods.registry import REGISTRY


@pytest.mark.parametrize("method", REGISTRY)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law(law, method):
    law(method_class(method))

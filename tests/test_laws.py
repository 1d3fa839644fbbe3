"""Every registered method against every law, without anyone asking."""

import pytest

from karat.checks import LAWS
from karat.methods.lookup import method_class
from karat.methods.registry import REGISTRY


@pytest.mark.parametrize("method", REGISTRY)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law(law, method):
    law(method_class(method))

"""The GPU kernels are tested and timed by bench/gpu.py where there is a GPU; here, what surrounds them."""

import re
from pathlib import Path

import pytest

import karat.kernels.cuda
from karat import InputError


def test_without_cupy_or_a_gpu_there_is_a_message_that_says_what_to_do():
    try:
        import cupy

        if cupy.cuda.is_available():
            pytest.skip("there is a GPU here; run bench/gpu.py")
    except ImportError:
        pass
    karat.kernels.cuda.cupy.cache_clear()
    with pytest.raises(InputError, match=r"pip install karat\[gpu\]|no GPU"):
        karat.kernels.cuda.cupy()


def test_the_cuda_sources_are_part_of_the_package_and_name_the_twins_of_the_cpu():
    folder = Path(karat.kernels.cuda.__file__).parent
    sources = sorted(folder.glob("*.cu"))
    assert sources
    for source in sources:
        names = re.findall(r'extern "C" __global__ void[^(]*\([^)]*\)\s*(\w+)\(', source.read_text())
        twins = [twin.read_text() for twin in folder.parent.glob(f"{source.stem.split('_')[0]}*.py")]
        assert names
        assert all(any(f"def {name}(" in twin for twin in twins) for name in names)

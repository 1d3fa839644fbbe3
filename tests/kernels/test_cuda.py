"""The GPU kernels are tested and timed by bench/speed/gpu.py where there is a GPU; here, what surrounds them."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import finegold.kernels.cuda
from finegold import InputError


def test_without_cupy_or_a_gpu_there_is_a_message_that_says_what_to_do():
    try:
        import cupy

        if cupy.cuda.is_available():
            pytest.skip("there is a GPU here; run bench/speed/gpu.py")
    except ImportError:
        pass
    finegold.kernels.cuda.cupy.cache_clear()
    with pytest.raises(InputError, match=r"pip install 'finegold\[gpu\]'|no GPU"):
        finegold.kernels.cuda.cupy()


TWINS = {"index_votes": "vote_rows"}  # names that differ
WITHOUT_TWINS = {"by_annotator"}  # the CPU adds to the sums of annotators one vote at a time


def test_the_cuda_sources_are_part_of_the_package_and_name_the_twins_of_the_cpu():
    folder = Path(finegold.kernels.cuda.__file__).parent
    sources = sorted(source for source in folder.glob("*.cu") if source.stem not in WITHOUT_TWINS)
    assert sources
    for source in sources:
        names = re.findall(
            r'extern "C" __global__ void[^(]*\([^)]*\)\s*(\w+)\(', source.read_text()
        )
        stems = source.stem.split("_")[0], "votes"
        twins = [twin.read_text() for stem in stems for twin in folder.parent.glob(f"{stem}*.py")]
        assert names
        assert all(any(f"def {TWINS.get(name, name)}(" in twin for twin in twins) for name in names)


@pytest.mark.parametrize("name", ["anchored", "confusion", "ibcc", "ptbcc", "votes"])
def test_functions_for_the_gpu_take_the_arguments_of_their_twins(name):
    cpu, gpu = (
        import_module(f"finegold.kernels.{name}"),
        import_module(f"finegold.kernels.cuda.{name}"),
    )
    shared = [
        name
        for name, value in vars(gpu).items()
        if inspect.isfunction(value)
        and not name.startswith("_")
        and value.__module__ == gpu.__name__
        and hasattr(cpu, name)
    ]
    assert shared
    for function in shared:
        assert _arguments(getattr(gpu, function)) == _arguments(getattr(cpu, function))


def _arguments(function):
    return list(inspect.signature(getattr(function, "py_func", function)).parameters)

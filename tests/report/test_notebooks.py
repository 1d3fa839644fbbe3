"""Notebooks: what objects look like there, progress in a real kernel, and examples that run."""

import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import numba
import pytest

import finegold
from finegold import Annotations
from finegold.api.fit import fit
from finegold.fitting.progress import in_python
from finegold.kernels.compiling import COMPILING, compiling

ROOT = Path(__file__).resolve().parents[2]


def executed(cells, folder):
    """The cells after a run in a Python kernel of this very environment."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}
    ).execute()
    return notebook.cells


@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda path: path.name
)
def test_the_example_runs_from_top_to_bottom(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), (
        "examples are kept without outputs"
    )
    nbclient.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": tmp_path}}
    ).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("text/html" in output.get("data", {}) for output in shown)


def test_a_long_fit_shows_one_line_and_takes_it_away(tmp_path):
    (cell,) = executed(
        [
            "import finegold, finegold.fitting.solve\n"
            "from finegold.fitting import progress\n"
            "progress.SECONDS_BEFORE_FIRST_LINE = progress.SECONDS_BETWEEN_LINES = 0\n"
            "votes = finegold.simulate(300, 10, 3).annotations\n"
            "finegold.fitting.solve.fit(finegold.PTBCC(), votes)\n"  # now everything is compiled
            "seen = []\n"
            "import IPython.display as d\n"
            "update = d.DisplayHandle.update\n"
            "d.DisplayHandle.update = lambda self, what, **more: (seen.append(what.data), update(self, what, **more))\n"
            "finegold.aggregate(votes, 'ptbcc')\n"
            "print(len(seen) > 1, seen[0], seen[-1] == '')"
        ],
        tmp_path,
    )
    text = "".join(output["text"] for output in cell.outputs if output["output_type"] == "stream")
    assert text.startswith("True <small>ptbcc: iteration 2, change ")
    assert text.endswith("True\n")
    lines = [output for output in cell.outputs if output["output_type"] == "display_data"]
    assert len(lines) == 1
    assert lines[0]["data"]["text/html"] == ""


def test_a_short_fit_shows_nothing_but_the_result(tmp_path):
    fit(finegold.PTBCC(), finegold.simulate(20, 5, 2).annotations)  # now everything is compiled
    source = "import finegold, finegold.fitting.progress\nfinegold.fitting.progress.SECONDS_BEFORE_FIRST_LINE = 1e9\n"
    source += "finegold.aggregate(finegold.simulate(20, 5, 2).annotations, 'ptbcc')"
    (cell,) = executed([source], tmp_path)
    (output,) = cell.outputs
    assert output["data"]["text/html"].startswith('<div class="finegold">')
    assert output["data"]["text/plain"].startswith("Result(ptbcc: 20 tasks")


def test_no_progress_where_nobody_sees_it(capsys):
    with in_python("ptbcc") as on_step:
        assert on_step is None
    finegold.aggregate(Annotations.from_arrays([1, 1], ["a", "b"], ["x", "y"]))
    assert capsys.readouterr() == ("", "")


def test_who_waits_for_the_compiler_is_told():
    told = []
    with compiling(told.append):
        assert numba.njit(lambda x: x + 1)(1) == 2
    assert told == [COMPILING]
    numba.njit(lambda x: x + 2)(1)
    assert told == [COMPILING]


def test_ipython_on_a_terminal_is_no_notebook():
    source = (
        "import finegold, finegold.fitting.progress; finegold.fitting.progress.SECONDS_BEFORE_FIRST_LINE = 0; "
        "finegold.aggregate(finegold.simulate(50, 5, 2).annotations); print('done')"
    )
    command = [sys.executable, "-m", "IPython", "--colors=nocolor", "-c", source]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "done\n", done.stderr


EVIL = "<script>alert(1)</script>"


def test_names_cannot_break_out_of_the_page():
    votes = Annotations.from_arrays([EVIL, EVIL, "b"], [EVIL, "w", EVIL], [EVIL, "y", "y"])
    result = finegold.aggregate(votes)
    assert "&lt;script&gt;" in result._repr_html_()
    views = (
        result,
        result.trust(),
        finegold.next_votes(result),
        finegold.agreement(votes),
        finegold.compare(votes, ["mv"]),
    )
    assert [view for view in views if "<script" in view._repr_html_()] == []


def test_a_result_shows_labels_flips_and_annotators_but_not_everything():
    result = finegold.aggregate(finegold.simulate(50, 9, 3).annotations)
    page = result._repr_html_()
    assert page.count("<tr>") == 1 + 5 + 1  # head, tasks, how many more
    assert "45 more" in page
    assert "labels against the majority vote" in page
    assert "best annotators: " in page
    votes = Annotations.from_arrays(["t" * 500], ["a"], ["x"])  # long names are cut
    assert "t" * 59 + "…<" in finegold.aggregate(votes)._repr_html_()


def test_agreement_trust_plans_and_comparisons_show_themselves():
    votes = finegold.simulate(60, 9, 3, seed=1)
    result = finegold.aggregate(votes.annotations)
    agreement, trust, plan = (
        finegold.agreement(votes.annotations),
        result.trust(votes.truth),
        finegold.next_votes(result, budget=7),
    )
    compared = finegold.compare(votes.annotations, ["mv", "ds"])
    assert (
        f"<td>Krippendorff&#x27;s alpha</td>{figure(f'{agreement.alpha:.3f}')}"
        in agreement._repr_html_()
    )
    assert f"<td>ties</td>{figure(trust.n_tied)}" in trust._repr_html_()
    assert "accuracy on 60 truths" in trust._repr_html_()
    assert "7 tasks to ask about" in plan._repr_html_()
    assert "2 more" in plan._repr_html_()
    assert [f"<td>{name}</td>" in compared._repr_html_() for name in ("mv", "ds")] == [True, True]


def figure(value):
    return f'<td class="n">{value}</td>'

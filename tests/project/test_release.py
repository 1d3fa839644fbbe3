"""What a release needs: one version, a section in the changelog, versions for development, workflows that are valid."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml

import finegold
from tools import release

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_version_is_in_one_place() -> None:
    assert release.version() == finegold.__version__
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/finegold/__init__.py"


def addresses(host: str) -> str:
    return "".join(f'{name} = "https://{host}/{name}"\n' for name in release.ADDRESSES)


@pytest.fixture
def ready(tmp_path: Path) -> Path:
    """A project that can be released as 1.0."""
    (tmp_path / "src" / "finegold").mkdir(parents=True)
    (tmp_path / "src" / "finegold" / "__init__.py").write_text('__version__ = "1.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.0 (2030-01-01)\n")
    (tmp_path / "CITATION.cff").write_text(
        "cff-version: 1.2.0\nversion: 1.0\nlicense: Apache-2.0\n"
    )
    (tmp_path / "pyproject.toml").write_text("[project.urls]\n" + addresses("finegold.internal"))
    return tmp_path


def test_a_ready_project_can_be_released(ready: Path) -> None:
    assert release.version(ready) == "1.0"
    assert release.why_not("1.0", ready) == []


def test_what_prevents_a_release_is_named(ready: Path) -> None:
    assert (
        len(release.why_not("1.0.dev0", ready)) == 3
    )  # no final version, no section, cited as another
    shutil.copy(ROOT / "CHANGELOG.md", ready)
    assert "no section '## 1.0'" in release.why_not("1.0", ready)[0]
    (ready / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 0.9\n")
    assert "does not say 'version: 1.0'" in release.why_not("1.0", ready)[1]


@pytest.mark.parametrize(
    "host", ["finegold.example", "example.org", "www.example.com", "finegold.invalid", "localhost"]
)
def test_invented_addresses_prevent_a_release(ready: Path, host: str) -> None:
    (ready / "pyproject.toml").write_text("[project.urls]\n" + addresses(host))
    assert "no real address for Homepage, Documentation, Source" in release.why_not("1.0", ready)[0]


def test_missing_addresses_prevent_a_release(ready: Path) -> None:
    (ready / "pyproject.toml").write_text(
        '[project.urls]\nHomepage = "https://finegold.internal"\n'
    )
    assert (
        "no real address for Documentation, Source, Issues, Changelog"
        in release.why_not("1.0", ready)[0]
    )


def test_a_tag_of_another_version_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert release.main(["--ready", "v0.0.7"]) == 1
    assert "v0.0.7" in capsys.readouterr().err


def test_the_changelog_begins_with_what_is_unreleased() -> None:
    sections = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert sections[0] == "Unreleased"
    assert all(
        re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d{2}-\d{2}\)", section) for section in sections[1:]
    )


def versions() -> list[str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_checksums_are_those_of_the_versions_and_there_is_no_address() -> None:
    """If it fails: make lock."""
    text = (ROOT / "constraints-hashes.txt").read_text("utf-8")
    entries = [entry.split() for entry in text.replace("\\\n", " ").splitlines() if entry]
    pins = [" ".join(word for word in entry if not word.startswith("--hash=")) for entry in entries]
    assert pins == versions()
    hashes = [word for entry in entries for word in entry if word.startswith("--")]
    assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", word) for word in hashes)
    assert all(any(word.startswith("--hash=") for word in entry) for entry in entries)


def test_constraints_are_names_and_versions_of_all_that_is_needed() -> None:
    lines = versions()
    assert all(re.fullmatch(r"[a-z0-9._-]+==[^\s;/]+( ; [^/]+)?", line) for line in lines)
    pinned = {line.partition("==")[0] for line in lines}
    extras = PROJECT["project"]["optional-dependencies"].items()
    needed = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["test"]]
    needed += [one for _, packages in extras for one in packages]
    names = {re.split(r"[\[><=; ]", one)[0].replace(".", "-") for one in needed} - {"finegold"}
    assert sorted(names - pinned) == [], "run `make lock`"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_have_jobs_and_no_secrets(path: Path) -> None:
    text = path.read_text("utf-8")
    assert yaml.safe_load(text)["jobs"]
    assert "secrets." not in text


def test_the_matrix_has_the_versions_that_are_promised() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8"))["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]
    promised = [
        one.rpartition(" ")[2] for one in PROJECT["project"]["classifiers"] if ":: 3." in one
    ]
    assert matrix["python"] == promised
    assert {system.partition("-")[0] for system in matrix["system"]} == {
        "ubuntu",
        "macos",
        "windows",
    }

"""The HTTP interface against its own description: whatever is sent, the studio does not fail."""

import json
import subprocess
import sys

import pytest

from tests.support.studio_helpers import TOKEN, studio_in_thread

ABSENT = 999


@pytest.fixture
def studio(tmp_path):
    with studio_in_thread(tmp_path) as client:
        project = client.read_sample(tmp_path)
        client.judge(project, 1, "cat")
        client.fit(project)
        client.project = project
        yield client


def narrowed(description, project):
    """Numbers that exist, so that requests get behind the first door. News never end, so they are left out."""
    del description["paths"]["/api/projects/{project}/events"]
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            deletes_all = (path, method) == ("/api/projects/{project}", "delete")
            for parameter in operation.get("parameters", []):
                if parameter["name"] == "project":
                    parameter["schema"] = {
                        "type": "integer",
                        "enum": [ABSENT if deletes_all else project],
                    }
                elif parameter["name"] == "at":
                    parameter["schema"] = {"type": "integer", "minimum": 0, "maximum": 100_000}
                elif parameter["name"] == "fit" and parameter["in"] == "path":
                    parameter["schema"] = {"type": "integer", "enum": [1, 2, ABSENT]}
    return description


def test_no_request_makes_the_studio_fail(studio, tmp_path):
    described = tmp_path / "openapi.json"
    description = narrowed(studio.good("GET", "/api/openapi.json"), studio.project)
    described.write_text(json.dumps(description))
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", str(described), "--url", studio.address),
        *(
            "--header",
            f"Authorization: Bearer {TOKEN}",
            "--checks",
            "not_a_server_error,response_schema_conformance",
        ),
        *(
            "--phases",
            "coverage,fuzzing",
            "--max-examples",
            "2",
            "--generation-deterministic",
            "--no-color",
        ),
        *("--request-timeout", "120"),  # a fresh checkout compiles its kernels first
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Tested: {sum(map(len, description['paths'].values()))}" in done.stdout
    assert studio.at(studio.project, "GET")["id"] == studio.project

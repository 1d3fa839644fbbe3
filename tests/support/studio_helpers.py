"""A studio for tests: in a thread, behind its real guard and a real socket, or as a process that can be killed."""

import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import httpx

from finegold.studio.serve import Server, plan
from finegold.studio.services import Services
from tests.support.animals import VOTES

SAMPLE = VOTES
TOKEN = "a-token-for-tests-only"
# Words of the command line and of Python.
OPTION = re.compile(r"(?<![\w-])--[a-z]|\bin Python\b|\bfinegold (sample|certify|next|aggregate)\b")
WAIT = 180  # seconds; the first fit of a fresh checkout compiles its kernels


def get(address, **more):
    """A request without the token. The first one of a busy machine may take longer than httpx waits by itself.

    Reading certificates would take longer than the request.
    """
    return httpx.get(address, timeout=WAIT, verify=False, **more)


def refused(answer, status, title=None, detail=""):
    """Check that a request was refused with this title and these words, and return the body of the answer."""
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert title in (None, body["title"])
    assert detail in body["detail"]
    return body


def copy_sample(folder):
    shutil.copy(SAMPLE, folder / "votes.csv")
    return folder / "votes.csv"


@contextmanager
def studio_in_thread(folder, **more):
    """-> a client with the token; client.services is what the server works with, client.folder its folder."""
    wanted = plan(project=str(folder / "test.studio"), token=TOKEN, **more)
    rules = wanted.rules
    services = Services(wanted.project, folder, rules.most_bytes)
    server = Server(services, rules)
    thread = threading.Thread(
        target=server.run, daemon=True
    )  # a server that hangs must not keep pytest from ending
    thread.start()
    try:
        wait_until(lambda: server.started)
        with Client(wanted.address) as client:
            client.services, client.rules, client.folder = services, rules, folder
            yield client
    finally:
        services.hub.close()
        server.should_exit = True
        thread.join(20)
        services.close()


class Client(httpx.Client):
    """Requests with the token, and the steps that most tests begin with."""

    def __init__(self, address):
        super().__init__(
            base_url=address,
            headers={"authorization": f"Bearer {TOKEN}"},
            timeout=WAIT,
            verify=False,
        )
        self.address, self.link = address, f"{address}/?token={TOKEN}"

    def good(self, method, path, **more):
        answer = self.request(method, path, **more)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    def at(self, project, method, path="", **more):
        return self.good(method, f"/api/projects/{project}{path}", **more)

    def create(self, name="project"):
        return self.good("POST", "/api/projects", json={"name": name})["id"]

    def draft(self, project, name, body=b"", **query):
        """A file of the folder, or one that is sent, as a draft."""
        params = {"name": name, **query}
        return self.good("POST", f"/api/projects/{project}/sources", params=params, content=body)

    def take(self, project, source, **change):
        """The project once a source is taken in."""
        change = {"state": "in", **change}
        self.good("PATCH", f"/api/projects/{project}/sources/{source}", json=change)
        return self.settled(project)

    def add(self, project, name, body=b"", kind=None, **reading):
        """Take a file in; return its source."""
        query = {} if kind is None else {"kind": kind}
        source = self.draft(project, name, body, **query)["id"]
        state = self.take(project, source, **({"reading": reading} if reading else {}))
        assert state["job"] is None or state["job"]["state"] == "done", state["job"]
        return source

    def open(self, name, body=b"", **reading):
        """A new project of a file in the folder, once it is read and fitted."""
        project = self.create(name)
        self.add(project, name, body, **reading)
        return project

    def read_sample(self, folder):
        copy_sample(folder)
        return self.open("votes.csv")

    def fit(self, project, method=None, **settings):
        self.at(project, "POST", "/fits", json={"method": method, "settings": settings})
        return self.settled(project)

    def settled(self, project):
        """The project when its job is over."""
        state = {}

        def is_over():
            state.update(self.good("GET", f"/api/projects/{project}"))
            # none since the studio was started
            job = state["job"] or {"state": "done"}
            return job["state"] not in ("queued", "running") and not [
                fit
                for fit in self.at(project, "GET", "/fits")
                if fit["state"] in ("queued", "running")
            ]

        wait_until(is_over)
        return state

    def invite(self, project, name):
        """A client of a reviewer of this project."""
        return self.with_token(self.at(project, "POST", "/people", json={"name": name})["token"])

    def with_token(self, token):
        headers = {"authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.address, headers=headers, timeout=WAIT, verify=False)

    def truths(self, project):
        return {one["task"]: one["label"] for one in self.at(project, "GET", "/judgements")}

    def judge(self, project, task, label, *, who="", **more):
        """What a reviewer says about a task, or several."""
        tasks = task if isinstance(task, list) else [task]
        return self.post(
            f"/api/projects/{project}/judgements",
            json={"tasks": tasks, "label": label, **more},
            headers={"x-finegold-reviewer": who},
        )

    def next(self, project, who="", **query):
        return self.good(
            "GET",
            f"/api/projects/{project}/next",
            params=query,
            headers={"x-finegold-reviewer": who},
        )

    def labels(self, project):
        """The label of every task."""
        labels, first = {}, 0
        while rows := self.at(project, "GET", f"/tasks?sort=task&most=500&first={first}")["rows"]:
            labels |= {row["name"]: row["label"] for row in rows}
            first += 500
        return labels

    def check(self, project, sample, answer, who=""):
        """Check all tasks of a sample that are left for somebody; return how many."""
        n = 0
        while tasks := self.next(project, who, sample=sample)["tasks"]:
            name = tasks[0]["name"]
            assert self.judge(project, name, answer(name), who=who, sample=sample).status_code < 300
            n += 1
        return n


class Process:
    """`finegold studio` as users start it."""

    def __init__(self, folder, *arguments):
        command = [
            sys.executable,
            "-m",
            "finegold",
            "studio",
            "--no-browser",
            "--token",
            TOKEN,
            *map(str, arguments),
        ]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        found = re.match(r"(http://\S+?)/\?token=(\S+)", line)
        assert found, line + self.process.stderr.read()
        self.address, self.link = found[1], line.strip()
        wait_until(self._answers)

    def client(self):
        return Client(self.address)

    def kill(self):
        self.process.kill()
        self._over()

    def end(self):
        """As Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        said = self._over()
        assert self.process.returncode == 0, said
        assert "everything is saved in" in said

    def _over(self):
        return self.process.communicate(timeout=30)[1]

    def _answers(self):
        try:
            return get(self.address).status_code == 401
        except httpx.TransportError:
            assert self.process.poll() is None, self.process.stderr.read()
            return False


@contextmanager
def running(folder, *arguments):
    studio = Process(folder, *arguments)
    try:
        yield studio
    finally:
        if studio.process.poll() is None:
            studio.end()


def wait_until(is_so, seconds=WAIT):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)

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

    def read(self, project, **reading):
        """The project once its file is read."""
        self.at(project, "PUT", "/votes", json=reading)
        return self.settled(project)

    def open(self, name, **reading):
        """A new project of a file in the folder, once it is read."""
        project = self.create(name)
        assert self.read(project, **reading)["job"]["state"] == "done"
        return project

    def create(self, file):
        """A new project of a file in the folder."""
        return self.good("POST", "/api/projects", json={"file": file})["id"]

    def upload(self, name, body):
        return self.good("POST", f"/api/uploads?name={name}", content=body)["id"]

    def read_sample(self, folder):
        copy_sample(folder)
        return self.open("votes.csv")

    def fit(self, project, method="ptbcc", **settings):
        self.at(project, "POST", "/fits", json={"method": method, "settings": settings})
        return self.settled(project)

    def settled(self, project):
        """The project when its job is over."""
        state = {}

        def is_over():
            state.update(self.good("GET", f"/api/projects/{project}"))
            waiting = [fit for fit in state["fits"] if fit["state"] in ("queued", "running")]
            job = state["job"] or {"state": "done"}  # none since the studio was started
            return job["state"] not in ("queued", "running") and not waiting

        wait_until(is_over)
        return state

    def post_votes(self, project, *votes):
        named = [dict(zip(("task", "annotator", "label"), vote, strict=True)) for vote in votes]
        return self.at(project, "POST", "/votes", json={"votes": named})

    def gold(self, project):
        return {one["task"]: one["label"] for one in self.at(project, "GET", "/gold")}

    def judge(self, project, task, label, **more):
        return self.post(
            f"/api/projects/{project}/gold", json={"task": task, "label": label, **more}
        )


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

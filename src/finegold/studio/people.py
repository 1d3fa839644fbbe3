"""People who review: invite them by a link, revoke it, and see who did what."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from finegold.studio.problems import Problem
from finegold.studio.projects import Projects, now
from finegold.studio.requests import MAX_REVIEWER_LENGTH, ProjectId, ServicesDep
from finegold.studio.security import Visitor, new_token, session_of

router = APIRouter(tags=["people"], prefix="/projects/{project}/people")


class People:
    """Those who were invited on the page. Of their tokens, only the sessions that belong to them are kept."""

    def __init__(self, projects: Projects) -> None:
        self.projects, self.store = projects, projects.store

    def find(self, session: str) -> Visitor | None:
        """Return whose session it is; None if it is nobody's, or was revoked."""
        row = self.store.row("SELECT name, project FROM person WHERE session = ?", session)
        return None if row is None else Visitor(row["name"], session, row["project"])

    def invite(self, project: int, name: str) -> str:
        """Return a new token for a person; an earlier one is no longer valid."""
        token = new_token()
        with self.projects.changing(project):
            known = self.store.row("SELECT project FROM person WHERE name = ?", name)
            if known is not None and known["project"] != project:
                detail = "Another project has a reviewer of this name; add something to it."
                raise Problem(409, "The name is taken", detail)
            insert = "INSERT OR REPLACE INTO person (name, project, session, at) VALUES (?, ?, ?, ?)"
            self.store.run(insert, name, project, session_of(token), now())
        return token

    def revoke(self, project: int, name: str) -> None:
        with self.projects.changing(project):
            self.store.run("DELETE FROM person WHERE project = ? AND name = ?", project, name)

    def table(self, project: int) -> list[dict[str, Any]]:
        """Return what each person did: those who were invited, and all who judged."""
        invited = self.store.rows("SELECT name, at FROM person WHERE project = ? ORDER BY name", project)
        did = self.store.rows(
            "SELECT reviewer, kind, at FROM action WHERE project = ? AND NOT undone UNION ALL "
            "SELECT reviewer, 'check', answer.at FROM answer JOIN audit ON audit.id = audit WHERE project = ? "
            "AND NOT settles",
            *(project, project),
        )
        rows: dict[str, dict[str, Any]] = defaultdict(lambda: dict.fromkeys(KINDS.values(), 0) | {"last": None})
        for row in invited:
            rows[row["name"]]["invited"] = row["at"]
        for row in did:
            person = rows[row["reviewer"]]
            person[KINDS[row["kind"]]] += 1
            person["last"] = max(person["last"] or "", row["at"])
        return [{"name": name, "invited": None, **row} for name, row in rows.items()]


KINDS = {"judge": "judged", "skip": "skipped", "send_back": "sent_back", "check": "checked"}


class Person(BaseModel):
    name: str = Field(description="Blank: the owner, without a name.")
    invited: str | None = Field(description="When a link was made on the page; null: there is none, or it was revoked.")
    judged: int
    skipped: int
    sent_back: int
    checked: int = Field(description="Number of tasks of a random sample.")
    last: str | None = Field(description="When they did something for the last time.")


class Invited(BaseModel, extra="forbid"):
    name: str = Field(min_length=1, max_length=MAX_REVIEWER_LENGTH)


class Invitation(BaseModel):
    name: str
    token: str = Field(description="It is shown once: the address of the studio followed by /?token= and this.")


@router.get("")
def people(project: ProjectId, services: ServicesDep) -> list[Person]:
    """Return the reviewers of a project and what they did."""
    services.projects.get(project)
    return [Person(**row) for row in services.people.table(project)]


@router.post("", status_code=201)
def invite(project: ProjectId, who: Invited, services: ServicesDep) -> Invitation:
    """Invite a reviewer to this project. A second invitation of the same name replaces the first."""
    name = who.name.strip()
    if not name or not name.isprintable():
        raise Problem(422, "This is not a name", "Write a name of visible characters.")
    return Invitation(name=name, token=services.people.invite(project, name))


@router.delete("", status_code=204, response_class=Response)
def revoke(project: ProjectId, name: str, services: ServicesDep) -> None:
    """Revoke the link of a reviewer at once. Their judgements stay."""
    services.people.revoke(project, name)

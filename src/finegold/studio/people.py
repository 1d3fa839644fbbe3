"""People who review: invite them by a link, revoke it, and see who did what."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from finegold.studio.problems import Problem
from finegold.studio.security import Visitor, new_token, session_of
from finegold.studio.services import MAX_REVIEWER_LENGTH, ProjectId, StoreDep
from finegold.studio.store import Store, now

router = APIRouter(tags=["people"], prefix="/projects/{project}/people")

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


def find_visitor(store: Store, session: str) -> Visitor | None:
    """Return the person who was invited on the page and has this session; None if there is none, or it was revoked."""
    row = store.row("SELECT name, project FROM person WHERE session = ?", session)
    return None if row is None else Visitor(row["name"], session, row["project"])


@router.get("")
def people(project: ProjectId, store: StoreDep) -> list[Person]:
    """Return what each person did: those who were invited, and all who judged."""
    invited = store.rows("SELECT name, at FROM person WHERE project = ? ORDER BY name", project)
    did = store.rows(
        "SELECT reviewer, kind, at FROM action WHERE project = ? AND NOT undone UNION ALL "
        "SELECT reviewer, 'check', answer.at FROM answer JOIN audit ON audit.id = audit WHERE project = ? "
        "AND NOT settles",
        *(project, project),
    )
    nothing: dict[str, Any] = dict.fromkeys(KINDS.values(), 0) | {"last": None, "invited": None}
    rows: dict[str, dict[str, Any]] = defaultdict(nothing.copy)
    for row in invited:
        rows[row["name"]]["invited"] = row["at"]
    for row in did:
        person = rows[row["reviewer"]]
        person[KINDS[row["kind"]]] += 1
        person["last"] = max(person["last"] or "", row["at"])
    return [Person(name=name, **row) for name, row in rows.items()]


@router.post("", status_code=201)
def invite(project: ProjectId, who: Invited, store: StoreDep) -> Invitation:
    """Invite a reviewer to this project. A second invitation of the same name replaces the first.

    Of the token, only the session that belongs to it is kept.
    """
    name, token = who.name.strip(), new_token()
    if not name or not name.isprintable():
        raise Problem(422, "This is not a name", "Write a name of visible characters.")
    with store.changing(project):
        known = store.row("SELECT project FROM person WHERE name = ?", name)
        if known is not None and known["project"] != project:
            detail = "Another project has a reviewer of this name; add something to it."
            raise Problem(409, "The name is taken", detail)
        store.insert("person", name=name, project=project, session=session_of(token), at=now())
    return Invitation(name=name, token=token)


@router.delete("", status_code=204, response_class=Response)
def revoke(project: ProjectId, name: str, store: StoreDep) -> None:
    """Revoke the link of a reviewer at once. Their judgements stay."""
    with store.changing(project):
        store.run("DELETE FROM person WHERE project = ? AND name = ?", project, name)

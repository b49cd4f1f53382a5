"""What is wrong with skills and their settings: nothing that was written to restrict is passed over in silence."""

from __future__ import annotations

from collections.abc import Iterator

from policyengine.config.permissions_lint import Complaint
from policyengine.config.skills import Found, Settings, SkillFolders, is_about
from policyengine.policies.skill import Skill


def lint_skills(folders: SkillFolders, file: str) -> Iterator[Complaint]:
    """Complain about the skills of some folders, and about settings (`file`) that are about none of them.

    Raises:
        LoadError: the settings or a root cannot be read.
    """
    settings, found = folders.settings(), folders.listing()
    taken: dict[str, Found] = {}
    for one in found:
        yield from _about_file(one)
        if one.skill is not None:
            first = taken.setdefault(one.skill.name, one)
            yield from _about_name(one, first)
    yield from _about_settings(settings, [one.skill for one in found if one.skill is not None], file)


def _about_file(found: Found) -> Iterator[Complaint]:
    if found.skill is None:
        yield Complaint(file=found.path, text=found.id, code="stray", message=found.notes[0])
        return
    if found.skill.refused:
        message = f"it is refused, and leaves nothing if it is loaded: {found.skill.refused}"
        yield Complaint(file=found.path, text=found.id, code="refused", message=message)
    for note in found.notes:
        yield Complaint(file=found.path, text=found.id, code="note", message=note)


def _about_name(found: Found, first: Found) -> Iterator[Complaint]:
    assert found.skill is not None
    assert first.skill is not None
    if first.skill.path == found.skill.path:
        return
    name = found.skill.name
    if first.id.partition("/")[0] == found.id.partition("/")[0]:
        message = f"`/{name}` means no skill of this root: `{first.id}` has the name as well"
        yield Complaint(file=found.path, text=found.id, code="ambiguous", message=message)
    else:
        yield Complaint(file=found.path, text=found.id, code="shadowed", message=f"`/{name}` means `{first.id}`")


def _about_settings(settings: Settings, skills: list[Skill], file: str) -> Iterator[Complaint]:
    lists = {"disabled": settings.disabled, **{f"agents.{agent}": names for agent, names in settings.agents.items()}}
    for place, entries in lists.items():
        for entry in sorted(entries):
            about = {skill.path for skill in skills if is_about(entry, skill, settings)}
            if not about:
                yield Complaint(file=file, text=entry, code="unused", message=f"no skill is called so (`{place}`)")
            elif len(about) > 1 and place != "disabled":
                message = f"several skills have this name, so that it allows none of them (`{place}`)"
                yield Complaint(file=file, text=entry, code="ambiguous", message=message)

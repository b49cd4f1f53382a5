"""Generated attacks and their harmless twins: a sample of every way and of combinations."""

from __future__ import annotations

from itertools import islice
from random import Random

from fuzz.attacks import Generated, attacks, faults_of_attacks, faults_of_twins, twins
from fuzz.carriers import CARRIERS, HELD
from fuzz.payloads import HARMFUL, HARMLESS, QUOTINGS, payload
from fuzz.standing import PROFILES, Standing, standing
from fuzz.surroundings import WRAPPERS

SEED = 1
SINGLES = 9000  # more than there are: after them come combinations
SAMPLE = 700


def _sample(commands: list[Generated]) -> list[Generated]:
    return Random(SEED).sample(commands, min(SAMPLE, len(commands)))


def test_no_disguise_is_judged_more_leniently_than_what_it_hides() -> None:
    assert list(faults_of_attacks(_sample(list(islice(attacks(SEED), SINGLES))))) == []


def test_nothing_is_held_for_the_way_it_is_carried_alone() -> None:
    singles = [one for one in islice(twins(SEED), SAMPLE) if len(one.ways) == 1]
    assert list(faults_of_twins(singles)) == []


def test_every_payload_is_what_its_table_says() -> None:
    assert [text for text in HARMFUL if standing(text, "workstation") is Standing.PASS] == []
    assert [text for text in HARMLESS for profile in PROFILES if standing(text, profile) > Standing.PASS] == []


def test_every_way_is_taken_by_some_payload() -> None:
    ways = {**WRAPPERS, **CARRIERS}
    assert [name for name, way in ways.items() if not any(way(payload(text)) for text in HARMFUL)] == []
    words = [one.words for one in map(payload, HARMFUL) if one.words]
    assert [name for name, way in QUOTINGS.items() if not any(way(one) for one in words)] == []


def test_a_judge_that_overlooks_a_way_is_caught() -> None:
    lenient = Generated("echo hi", "rm -rf /", ("carrier sh",))
    assert [fault.got for fault in faults_of_attacks([lenient])] == [Standing.PASS, Standing.PASS]
    strict = Generated("rm -rf /", "ls", ("carrier sh",))
    assert [fault.got for fault in faults_of_twins([strict])] == [Standing.DENY, Standing.DENY]


def test_ways_that_hold_the_harmless_exist() -> None:
    assert [name for name in HELD if name not in {**WRAPPERS, **CARRIERS}] == []

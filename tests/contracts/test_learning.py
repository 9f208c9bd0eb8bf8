"""What is learned from clean runs, and whether the printed bound of false alarms holds."""

from __future__ import annotations

import random
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.rules.builders import chat, incomplete, offer, run, submission, tool

from spanwitness.contracts import Contract, load
from spanwitness.contracts.learning import Learned, learn, why_left_out
from spanwitness.errors import RuleError
from spanwitness.rules.engine import evaluate, judge_clauses

if TYPE_CHECKING:
    from spanwitness.model import Run

OFFERED = tuple(offer(name) for name in ("open", "read", "check", "by_mail", "by_name"))


@lru_cache(maxsize=1024)
def shape(names: tuple[str, ...], *, is_submitted: bool = False) -> Run:
    """A run in which these tools were executed, one after the other."""
    items = [tool(name, id=f"c{n}", gives="x") for n, name in enumerate(names)]
    end = [submission("3")] if is_submitted else []
    return run(chat("ok", offers=OFFERED), *items, chat("done", offers=OFFERED), *end)


def of(*names: str, n: int = 0, **fields: object) -> Run:
    own = {"run_id": f"run-{n}", "trace_id": f"{n:032x}"} | fields
    is_submitted = bool(own.pop("is_submitted", False))
    return msgspec.structs.replace(shape(names, is_submitted=is_submitted), **own)


def learned(runs: list[Run], **how: object) -> Learned:
    return learn(runs, judge=judge_clauses, **how)  # type: ignore[arg-type]


def rules_of(found: Learned) -> set[tuple[str, str]]:
    (one,) = found.contracts
    return {(s.clause.rule, s.clause.subject) for s in one.support}


def test_what_every_run_did_is_required():
    found = learned([of("open", "read", *("check",) * (n % 2), n=n) for n in range(60)])
    rules = rules_of(found)
    assert {("required_tool_missing", "open"), ("required_tool_missing", "read")} <= rules
    assert ("required_tool_missing", "check") not in rules
    assert ("out_of_order", "open before read") in rules
    assert ("tool_not_offered", "offered") in rules


def test_what_was_done_before_the_submission_is_asked_for_before_it():
    found = learned([of("open", n=n, is_submitted=True) for n in range(60)])
    clause = next(s.clause for s in found.contracts[0].support if s.clause.tool == "open")
    assert (clause.rule, clause.before) == ("required_tool_missing", "submit")


def test_tools_of_which_every_run_used_one_are_alternatives():
    found = learned([of("by_mail" if n % 3 else "by_name", n=n) for n in range(60)])
    contract = found.contracts[0].contract
    assert contract.tools["alternatives_1"] == ("by_mail", "by_name")
    assert ("navigation_bypassed", "alternatives_1") in rules_of(found)


def test_an_order_that_follows_from_two_others_is_not_told():
    found = learned([of("open", "read", "check", n=n) for n in range(60)])
    orders = {subject for rule, subject in rules_of(found) if rule == "out_of_order"}
    assert orders == {"open before read", "read before check"}


def test_counts_leave_room_and_a_number_that_never_varied_is_the_least():
    found = learned([of("open", "read", "read", *("check",) * (n % 4), n=n) for n in range(60)])
    clauses = {s.clause.tool: s.clause for s in found.contracts[0].support if s.clause.at_most}
    limits = {tool: (clause.at_least, clause.at_most) for tool, clause in clauses.items()}
    assert limits == {"open": (None, 4), "read": (2, 5), "check": (None, 6)}


def test_a_learned_contract_flags_a_run_that_does_without():
    found = learned([of("open", "read", n=n) for n in range(60)])
    contract = load(found.contracts[0].contract.as_json())
    assert not evaluate(of("open", "read"), [contract]).findings
    bad = evaluate(of("open"), [contract])
    assert bad.is_flagged
    assert {v.rule for v in bad.findings} == {"required_tool_missing"}


def test_each_agent_gets_its_own_contract_and_mixed_stacks_are_told():
    runs = [of("open", n=n, agent="a", stack=f"s{n % 2}", item_id=str(n)) for n in range(60)]
    runs += [of("check", n=100 + n, agent="b", stack="s0", item_id=str(n)) for n in range(60)]
    found = learned(runs)
    assert [one.contract.name for one in found.contracts] == ["learned-a", "learned-b"]
    assert [one.contract.when.agent for one in found.contracts if one.contract.when] == [
        ("a",),
        ("b",),
    ]
    assert found.contracts[0].stacks == ("s0", "s1")
    assert [note for note in found.notes if "2 stacks" in note] != []
    assert all("agent b" not in note for note in found.notes)


@pytest.mark.parametrize("n", [0, 1, 25, 38])
def test_fewer_than_20_held_out_units_are_refused(n: int):
    with pytest.raises(RuleError, match=r"20|no clean run"):
        learned([of("open", n=i) for i in range(n)])


def test_repeats_of_an_item_are_one_unit():
    runs = [of("open", n=n, item_id=f"item-{n % 30}") for n in range(300)]
    with pytest.raises(RuleError, match="15 held-out units"):
        learned(runs)
    assert learned(runs, unit="run").contracts[0].held_out.n_units == 150


def test_a_unit_that_runs_do_not_name_is_an_error():
    with pytest.raises(RuleError, match="names no conversation"):
        learned([of("open", n=n) for n in range(60)], unit="conversation")


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, 2.0])
def test_a_share_outside_of_0_to_1_is_an_error(share: float):
    with pytest.raises(RuleError, match="held_out"):
        learned([of("open", n=n) for n in range(60)], held_out=share)


def test_a_child_run_is_of_its_parents_unit():
    runs = [of("open", n=n) for n in range(40)]
    runs += [
        of("open", n=100 + n, trace_id=f"{n:032x}", parent_run_id=f"run-{n}") for n in range(40)
    ]
    (one,) = learned(runs).contracts
    assert (one.n_units, one.held_out.n_units) == (20, 20)


def test_the_same_seed_gives_the_same_contract_and_another_split_may_not():
    runs = [of("open", *("read",) * (n > 0), n=n) for n in range(60)]
    assert learned(runs, seed=3) == learned(list(reversed(runs)), seed=3)
    # The one run without a reading is learned from, or it fires.
    fired = [learned(runs, seed=seed).contracts[0].held_out.n_fired for seed in range(12)]
    assert set(fired) == {0, 1}


def test_units_on_which_nothing_can_be_assessed_are_not_counted():
    runs = [of("open", n=n) for n in range(100)]
    blind = [
        incomplete(msgspec.structs.replace(shape(()), run_id=f"b{n}", chats=())) for n in range(20)
    ]
    (one,) = learned(runs + blind, held_out=0.6).contracts
    assert one.held_out.n_not_assessed > 0
    assert one.held_out.n_units + one.held_out.n_not_assessed == 72


def test_only_clean_runs_are_learned_from():
    clean = of("open")
    assert why_left_out(clean, is_flagged=False) is None
    assert why_left_out(clean, is_flagged=True) == "flagged"
    assert why_left_out(incomplete(clean), is_flagged=False) == "incomplete"
    failed = msgspec.structs.replace(clean, error_type="TimeoutError")
    assert why_left_out(failed, is_flagged=False) == "ended in an error"
    stopped = msgspec.structs.replace(clean, is_cancelled=True)
    assert why_left_out(stopped, is_flagged=False) == "cancelled"
    empty = msgspec.structs.replace(clean, chats=(), tools=())
    assert why_left_out(empty, is_flagged=False) == "without a model call or a tool"


def test_the_baseline_holds_the_runs_learned_from_and_no_other():
    runs = [of("open", *("read",) * (n % 2), n=n, stack="s") for n in range(80)]
    found = learned(runs, with_baseline=True)
    (entry,) = found.baseline.stacks
    assert (entry.agent, entry.stack, entry.n_runs, entry.n_with_tools) == ("agent", "s", 40, 40)
    assert entry.tools["open"] == 40
    assert sum(entry.executions.values()) == 40
    assert entry.usual_tools == ("open",)
    assert found.contracts[0].contract.expect[-1].rule == "below_baseline"


def test_odd_names_of_tools_and_agents_are_learned_without_an_error():
    names = ("submit", "offered", "alternatives_1", "any_tool", "read_*", "read_page", "a[1]", "")
    runs = [of(*names, n=n, agent="", service="", stack="") for n in range(60)]
    (one,) = learned(runs, with_baseline=True).contracts
    assert one.agent is None
    assert load(one.contract.as_json()) == one.contract
    required = {s.clause.tool for s in one.support if s.clause.rule == "required_tool_missing"}
    assert required == {*names} - {""}
    assert one.held_out.n_fired == 0


FEATURES = {"open": 0.97, "read": 0.96, "check": 0.98, "by_mail": 0.5}
"""Tools, and the share of clean runs that execute each, independently of one another."""


class Remembering:
    """A judge that judges runs of one shape once."""

    def __init__(self) -> None:
        self._words: dict[tuple[int, tuple[str, ...]], tuple[str, ...]] = {}
        self._contracts: list[Contract] = []

    def __call__(self, run: Run, contract: Contract) -> tuple[str, ...]:
        key = id(contract), tuple(tool.name for tool in run.tools)
        if key not in self._words:
            self._contracts.append(contract)  # so that its id stays its own
            self._words[key] = judge_clauses(run, contract)
        return self._words[key]


def _true_rate(contract: Contract, judge: Remembering) -> float:
    """The share of clean runs on which a clause fires, over all that can happen."""
    rate = 0.0
    for used in product((True, False), repeat=len(FEATURES)):
        share, names = 1.0, []
        for is_used, (name, probability) in zip(used, FEATURES.items(), strict=True):
            share *= probability if is_used else 1 - probability
            if is_used:
                names.append(name)
        if "violated" in judge(shape(tuple(names)), contract):
            rate += share
    return rate


def test_the_printed_bound_holds_in_at_least_93_percent_of_200_random_splits():
    draw = random.Random(20261130)
    judge = Remembering()
    rates, bounds = [], []
    for seed in range(200):
        runs = [
            of(*(name for name, share in FEATURES.items() if draw.random() < share), n=n)
            for n in range(150)
        ]
        (one,) = learn(runs, judge=judge, seed=seed, held_out=0.8).contracts  # type: ignore[arg-type]
        rates.append(_true_rate(one.contract, judge))
        bounds.append(one.held_out.bound)
    n_held = sum(rate <= bound for rate, bound in zip(rates, bounds, strict=True))
    assert 0.93 * 200 <= n_held < 200, "a bound that never fails is not the one that is told"
    assert sum(rates) / 200 > 0.02


def test_a_tool_definition_that_is_not_recorded_gives_no_clause_on_offers():
    bare = chat("done", offers=None)
    runs = [
        msgspec.structs.replace(run(bare, tool("open", id="c")), trace_id=f"{n:032x}")
        for n in range(60)
    ]
    assert all(rule != "tool_not_offered" for rule, _ in rules_of(learned(runs)))

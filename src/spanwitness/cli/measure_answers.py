"""`spanwitness measure evidence`, `stability` and `provenance`."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path  # noqa: TC003  typer evaluates the annotations
from typing import Annotated

import typer

from spanwitness.cli import measure_options as opt  # noqa: TC001  typer evaluates them
from spanwitness.cli.measure_options import Format
from spanwitness.cli.measure_output import end, print_result

__all__ = ["evidence", "provenance", "stability"]


class _RunsWord(StrEnum):
    refuse = "refuse"
    rarefy = "rarefy"


def evidence(  # noqa: PLR0913  one parameter an option
    source: opt.Input,
    *,
    baseline: Annotated[str, typer.Option(help="The condition to compare with.")] = "clean",
    plan: Annotated[
        Path | None, typer.Option(help="A table of the planned case_id, condition, stage.")
    ] = None,
    optional: Annotated[
        list[str] | None,
        typer.Option(
            help="A stage without which a case is complete; may be repeated. In traces, without"
            " --plan, steps of kind escalate are."
        ),
    ] = None,
    form: opt.Form = Format.text,
    part: opt.Part = None,
    level: opt.Level = 0.95,
    resamples: opt.Resamples = 2000,
    seed: opt.Seed = 5205,
) -> None:
    """Measure how reliable the evidence is that a pipeline's stages receive.

    Columns of a table: case_id, condition, stage, parser_valid, validity_judgment,
    evidence_adequate, audit_detected_degradation, audit_false_assurance, escalation_recovery,
    optionally status. In traces the stages are the steps that state such facts.
    """
    from spanwitness.cli.measure_input import is_traces, read_log
    from spanwitness.measure import measure_evidence, stages_of
    from spanwitness.measure.traced_stages import escalations_of

    given = read_log(source, outcomes=None) if is_traces(source) else None
    may_lack = set(optional or ())
    if given is not None and plan is None:
        may_lack.update(escalations_of(given.log))
    result = measure_evidence(
        source if given is None else stages_of(given.log),
        baseline=baseline,
        plan=plan,
        optional=sorted(may_lack),
        level=level,
        n_resamples=resamples,
        seed=seed,
    )
    print_result(result, form, part, source=source.name)
    end(given)


def stability(  # noqa: PLR0913  one parameter an option
    source: opt.Input,
    *,
    configuration: Annotated[
        str | None,
        typer.Option(
            help="With traces: what tells the configuration; else tag:configuration, or the stack."
        ),
    ] = None,
    features: Annotated[
        Path | None, typer.Option(help="With traces: a table of item_id, label, flagged.")
    ] = None,
    outcomes: opt.Outcomes = None,
    unequal_runs: Annotated[
        _RunsWord, typer.Option(help="What to do when items have unequal numbers of runs.")
    ] = _RunsWord.refuse,
    transfer: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="K",
            help="Also: are the K least stable items of one configuration so under the others?",
        ),
    ] = None,
    form: opt.Form = Format.text,
    part: opt.Part = None,
    level: opt.Level = 0.95,
    resamples: opt.Resamples = 2000,
    seed: opt.Seed = 5205,
) -> None:
    """Measure how much repeated runs of an item disagree.

    Columns of a table: configuration, item_id, run, answer, optionally success, label, flagged. In
    traces the answers are what runs submitted, else what they gave back.
    """
    from spanwitness.cli.measure_input import is_traces, read_log
    from spanwitness.measure import Features, answers_of, measure_stability
    from spanwitness.measure.traced_answers import n_without_configuration

    given = read_log(source, outcomes=outcomes, keep="answers") if is_traces(source) else None
    result = measure_stability(
        source
        if given is None
        else answers_of(given.log, configuration=configuration, features=Features(features)),
        unequal=unequal_runs.value,
        transfer_k=transfer,
        level=level,
        n_resamples=resamples,
        seed=seed,
    )
    print_result(result, form, part, source=source.name)
    if given is not None and configuration is None:
        n_left = n_without_configuration(given.log)
        if n_left:
            print(
                f"spanwitness: note: {n_left} runs have no tag configuration:NAME and are left out",
                file=sys.stderr,
            )
    end(given)


def provenance(  # noqa: PLR0913  one parameter an option
    source: opt.Input,
    *,
    features: Annotated[
        Path | None, typer.Option(help="With traces: a table of item_id, label, quote.")
    ] = None,
    outcomes: opt.Outcomes = None,
    after: Annotated[
        Path | None,
        typer.Option(
            help="A table of item_id and outcome of the same items afterwards, such as under"
            " windows cut anew; with --threshold."
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Check the prediction, registered before, that the outcome rate of flagged records"
            " falls to this or below."
        ),
    ] = None,
    form: opt.Form = Format.text,
    part: opt.Part = None,
    level: opt.Level = 0.95,
    resamples: opt.Resamples = 2000,
    seed: opt.Seed = 5205,
) -> None:
    """Tell whether the evidence for a label is in the text a model was shown.

    Columns of a table: window, label, quote, optionally item_id, question, outcome. In traces the
    window is what a run's last model call was shown; labels are features, else the run's claims.
    """
    from spanwitness.cli.measure_input import is_traces, read_log
    from spanwitness.measure import Features, measure_provenance, windows_of

    given = read_log(source, outcomes=outcomes, keep="windows") if is_traces(source) else None
    result = measure_provenance(
        source if given is None else windows_of(given.log, features=Features(features)),
        after=after,
        threshold=threshold,
        level=level,
        n_resamples=resamples,
        seed=seed,
    )
    print_result(result, form, part, source=source.name)
    end(given)

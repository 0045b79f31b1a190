from __future__ import annotations

import json

import pytest

import yobx.verification  # noqa: F401  numpy must be there before pytester looks at the modules
from pytest_yobx.baseline import changes
from pytest_yobx.merge import MergeError, main, merged_reports
from pytest_yobx.shards import shares
from tests.pytest_yobx.support import run, write_repository

pytest_plugins = ["pytester"]

MODELS = ["good", "alone", "ready", "wrong", "convert"]


def report(pytester, name="report.json"):
    return json.loads((pytester.path / ".yobx" / name).read_text())


# ---- parts ---------------------------------------------------------------------------------------


def test_models_stay_whole_and_shares_are_even():
    cells = [f"m{i}[{b}]" for i in range(10) for b in ("primes", "ones")]
    parts = shares(cells, 3, {})
    assert sorted(cell for part in parts for cell in part) == sorted(cells)
    assert sorted(map(len, parts)) == [6, 6, 8]
    assert all(f"{c.partition('[')[0]}[ones]" in part for part in parts for c in part)
    slow = shares(cells, 3, {"m4[primes]": 100.0})
    assert min(slow, key=len) == {"m4[primes]", "m4[ones]"}


def test_order_does_not_matter():
    cells = [f"m{i}[ones]" for i in range(9)]
    assert shares(cells, 4, {}) == shares(cells[::-1], 4, {})


@pytest.mark.parametrize("arguments", [(), ("-n", "1")])
def test_parts_make_the_whole(pytester, arguments, capsys):
    write_repository(pytester, MODELS)
    for i in (1, 2):
        run(pytester, "--yobx", "--yobx-shard", f"{i}/2", "--yobx-bindings", "ones", *arguments)
    first, second = report(pytester, "report-1of2.json"), report(pytester, "report-2of2.json")
    assert len(first["attendance"]["planned"]) == 5
    assert {len(first["results"]), len(second["results"])} == {2, 3}
    files = [str(pytester.path / ".yobx" / f"report-{i}of2.json") for i in (2, 1)]
    output = pytester.path / "whole"
    assert main(["merge", *files, "--output", str(output)]) == 1
    said = capsys.readouterr().out
    assert "2 failed\n3 passed\n" in said
    assert said.endswith("red: 2 checks did not pass\n")
    whole = json.loads((output / "report.json").read_text())
    assert [row["nodeid"] for row in whole["results"]] == sorted(first["attendance"]["planned"])
    assert (output / "report.html").exists()
    assert main(["merge", *files, "--output", files[0]]) == 2
    assert "merge cannot write to" in capsys.readouterr().err
    assert main(["merge", files[0], "--output", str(output)]) == 2
    assert "merge refused: parts 1 to 2 are expected once each; there are [2]" in (
        capsys.readouterr().err
    )


def test_an_empty_part_is_no_failure(pytester):
    write_repository(pytester, ["good"])
    result = run(pytester, "--yobx", "--yobx-shard", "2/2")
    assert result.ret == 0
    assert report(pytester, "report-2of2.json")["attendance"]["assigned"] == []


def part(index, planned, assigned, done=None, count=2):
    done = assigned if done is None else done
    row = {"outcome": "passed", "seconds": 1.0, "reports": [], "message": ""}
    rows = [{"nodeid": n, **row} for n in done]
    attendance = {"planned": planned, "assigned": assigned, "shard": [index, count]}
    return {"environment": {}, "executed": len(rows), "attendance": attendance, "results": rows}


def merge(tmp_path, parts, *flags):
    files = [tmp_path / f"part{i}.json" for i in range(len(parts))]
    for file, data in zip(files, parts, strict=True):
        file.write_text(json.dumps({"schema": 1, "seed": 0, "totals": {}, **data}))
    return main(["merge", *map(str, files), "--output", str(tmp_path / "whole"), *flags])


@pytest.mark.parametrize(
    ("flags", "more", "words"),
    [
        ((), {}, "green: every part and check is there"),
        (("--min-cells", "2"), {}, "green: every part and check is there"),
        (("--min-cells", "3"), {}, "red: 2 checks, but --min-cells asks for 3"),
        (("--baseline", "same"), {}, "green: every part and check is there"),
        (("--baseline", "more"), {}, "red: 1 check of the baseline {} not made"),
        (("--baseline", "less"), {}, "green: every part and check is there"),
        ((), {"red": ["x is wrong. This run is red."]}, "red: a part: x is wrong."),
    ],
)
def test_a_merge_says_whether_the_whole_is_red(tmp_path, capsys, flags, more, words):
    parts = [part(1, ["a", "b"], ["a"]), part(2, ["a", "b"], ["b"]) | more]
    if flags[:1] == ("--baseline",):
        names = {"same": "ab", "more": "abc", "less": "a"}[flags[1]]
        night = tmp_path / "night.json"
        night.write_text(json.dumps({"schema": 1, "results": part(1, [], list(names))["results"]}))
        flags, words = ("--baseline", str(night)), words.format(night)
    assert merge(tmp_path, parts, *flags) == words.startswith("red")
    assert capsys.readouterr().out.splitlines()[-1] == words
    whole = json.loads((tmp_path / "whole" / "report.json").read_text())
    assert bool(whole["red"]) == words.startswith("red")


def test_a_merge_refuses_what_is_no_number_of_checks(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        merge(tmp_path, [], "--min-cells", "-1")
    assert "--min-cells: a number of checks, 0 or more, not '-1'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([part(1, ["a", "b"], ["a"]), part(2, ["a", "b"], ["b"], [])], "1 check without a .*: b"),
        ([part(1, ["a", "b"], ["a"]), part(2, ["a", "b"], [])], "1 check without a result: b"),
        ([part(1, ["a", "b"], ["a"]), part(2, ["a", "c"], ["c"])], "saw different checks: b, c"),
        ([part(1, ["a"], ["a"]), part(1, ["a"], ["a"])], r"once each; there are \[1, 1\]"),
        ([part(1, ["a"], ["a"]), part(2, ["a"], [], count=3)], "different runs: of 2, 3"),
        ([], "reports of pytest --yobx-shard"),
    ],
)
def test_what_is_missing_is_refused(parts, words):
    with pytest.raises(MergeError, match=words):
        merged_reports(parts)


def test_a_part_that_stopped_early_is_refused(pytester):
    write_repository(pytester, ["wrong", "good"])
    run(pytester, "--yobx", "--yobx-shard", "1/1", "-x", "--yobx-bindings", "ones")
    with pytest.raises(MergeError, match=r"1 check without a result: .*zoo:good\[ones\]"):
        merged_reports([report(pytester, "report-1of1.json")])


# ---- baseline ------------------------------------------------------------------------------------


def row(name, outcome, phase=""):
    reports = [{"passed": False, "failed_phase": phase}] if phase else []
    return {"nodeid": name, "outcome": outcome, "reports": reports}


def test_changes_cell_by_cell():
    before = [row("same", "passed"), row("fixed", "failed", "values"), row("worse", "passed")]
    before += [row("moved", "failed", "values"), row("left", "passed"), row("lost", "passed")]
    before += [row("still", "failed", "run"), row("known", "xfailed", "run")]
    now = [row("same", "passed"), row("fixed", "passed"), row("worse", "crash")]
    now += [row("moved", "failed", "convert"), row("left", "skipped"), row("new", "passed")]
    now += [row("still", "failed", "run"), row("known", "xfailed", "run")]
    found = changes(before, now, frozenset({"elsewhere"}))
    assert found.as_data() == {
        "fixed": ["fixed"],
        "new_failures": ["worse"],
        "other_phase": ["moved: values → convert"],
        "untested": ["left", "lost"],
        "added": ["new"],
    }
    assert found.bad
    assert not changes(before, before).bad


def test_one_regression_is_one_changed_cell(pytester):
    write_repository(pytester, MODELS)
    run(pytester, "--yobx")
    (pytester.path / ".yobx" / "report.json").rename(pytester.path / "night.json")
    zoo = (pytester.path / "zoo.py").read_text()
    zoo = zoo.replace('return Model(name="alone")', 'return Model("shapes", name="alone")')
    (pytester.path / "zoo.py").write_text(zoo)
    result = run(pytester, "--yobx", "--yobx-baseline", "night.json", "--yobx-bindings", "ones")
    # Fewer bindings than that night: these cells are missed, each by its name. The model that could
    # not be converted was told once then, so it has one cell to miss, and is no new failure now.
    result.stdout.fnmatch_lines(["  new failures: *zoo:alone?ones?", "*9 checks of the baseline*"])
    result.stdout.no_fnmatch_line("  new failures: *zoo:convert*")
    result = run(pytester, "--yobx", "--yobx-baseline", "night.json")
    data = report(pytester)["changes"]
    assert data.pop("new_failures") == [
        f"pyproject.toml::zoo:alone[{b}]" for b in ("ones", "primes2", "primes")
    ]
    assert not any(data.values())


def test_fewer_cells_than_the_baseline_are_red(pytester):
    write_repository(pytester, ["good", "alone"])
    run(pytester, "--yobx", "--yobx-bindings", "ones")
    (pytester.path / ".yobx" / "report.json").rename(pytester.path / "night.json")
    result = run(
        pytester, "--yobx", "--yobx-baseline", "night.json", "--yobx-bindings", "ones", "-k", "good"
    )
    result.assert_outcomes(passed=1, deselected=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["  untested: *zoo:alone?ones?", "1 check of the baseline night.json was not made.*red.*"]
    )


def test_a_least_number_of_cells(pytester):
    write_repository(pytester, ["good"], ini='yobx_min_cells = "4"')
    result = run(pytester, "--yobx")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["3 checks, but yobx_min_cells asks for 4. This run is red."])
    assert run(pytester, "--yobx", "--yobx-min-cells", "3").ret == 0


@pytest.mark.parametrize("text", ["{", '{"schema": 7, "results": []}', None])
def test_a_baseline_that_cannot_be_read_is_a_usage_error(pytester, text):
    write_repository(pytester, ["good"])
    if text is not None:
        (pytester.path / "night.json").write_text(text)
    result = run(pytester, "--yobx", "--yobx-baseline", "night.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*night.json is no report*"])


def test_a_test_that_compares_nothing_is_shown_as_that(pytester):
    write_repository(pytester, ["good"])
    pytester.makepyfile(test_own="def test_own(assert_converts): pass")
    result = run(pytester, "--yobx")
    result.stdout.fnmatch_lines(["test_own * unchecked"])

"""Pictures of one run and of several, whatever the loop; names are text."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import smidgen
from history.test_history import by_loop, every_loop
from smidgen import Comparison, History
from smidgen.errors import InvalidArgument, MissingExtra
from smidgen.history.plots import draw, figure_of

pytest.importorskip("matplotlib")
WHAT = {
    "rank": ("average regret", "log"),
    "label": ("error rate", "linear"),
    "filter": ("error rate", "linear"),
    "choose": ("average reward", "linear"),
    "tune": ("average loss", "linear"),
}


@every_loop
def test_a_run_is_drawn_by_what_its_loop_is_judged_by(loop: str, tmp_path: Path) -> None:
    history = by_loop()[loop]
    axes = history.plot(tmp_path / "run.png")
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert (axes.get_ylabel(), axes.get_yscale()) == WHAT[loop]
    assert history.curve is not None
    np.testing.assert_array_equal(axes.get_lines()[0].get_ydata(), history.curve.values)


def test_into_axes_that_are_there() -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert by_loop()["label"].plot(ax=left) is left
    assert by_loop()["tune"].plot(ax=right) is right
    assert (len(left.lines), len(right.lines)) == (1, 3)
    assert figure_of(right) is figure


def test_notebooks_show_the_axes_that_come_back() -> None:
    assert by_loop()["label"].plot()._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["$x", "$\\frac{1}{0}$ and $", "_hidden", "<b>", "{}", "\\bad"])
def test_names_are_text(name: str, tmp_path: Path) -> None:
    """A dollar sign begins no formula (which might not even parse), an underscore hides nothing."""
    compared = Comparison({name: by_loop()["label"], "other": by_loop()["filter"]})
    axes = compared.plot(tmp_path / "named.svg", title=name)
    texts = axes.get_legend().get_texts()
    assert [text.get_text().strip() for text in texts] == [name, "other"]
    assert not any(text.get_parse_math() for text in texts)


def test_a_run_of_which_nothing_is_known_is_not_drawn() -> None:
    with pytest.raises(InvalidArgument, match="no utility"):
        draw({"nothing": History([0, 1], feedback=[1, 0], loop="choose")})


def test_without_matplotlib_the_advice_is_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match="plots"):
        by_loop()["label"].plot()


def test_the_best_fixed_point_is_drawn_once_for_all() -> None:
    space = smidgen.Ball(dim=2)
    loss = smidgen.losses.Repeated(lambda x: float(x @ x), rounds=20)
    learners = {f"delta {d}": smidgen.OGDEG(space=space, loss_bound=1.0, delta=d) for d in (0.1, 0.3)}
    axes = smidgen.compare(learners, loss).plot()
    assert [line.get_label() for line in axes.get_lines()] == ["delta 0.1", "delta 0.3", "best fixed point"]

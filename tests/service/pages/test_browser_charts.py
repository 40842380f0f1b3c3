"""The charts of the pages in a real browser: what is drawn, and how it is read by pointer, by keyboard and by ear."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from service.browser import Visit, served, window
from service.pages.test_browser_dashboard import learnt, play

#: Draw a picture in an element of a size of its own; it stays there.
DRAW = """async ([picture, width, height]) => {
  const { draw } = await import('/ui/files/charts.js');
  document.querySelector('#own')?.remove();
  const own = document.createElement('div');
  [own.id, own.className, own.tabIndex] = ['own', 'chart', 0];
  [own.style.width, own.style.height, own.style.position] = [`${width}px`, `${height}px`, 'fixed'];
  [own.style.left, own.style.top, own.style.zIndex] = ['0', '0', '99'];
  document.body.append(own);
  draw(own, { ...picture, read: (i) => [[`value ${i}`, String(i)]] });
}"""
#: Texts that stick out of the chart to the left, or lie over one another.
CROWDED = """() => {
  const [own, out] = [document.querySelector('#own').getBoundingClientRect(), []];
  for (const kind of ['.tick-x', '.tick-y']) {
    const boxes = [...document.querySelectorAll(`#own ${kind}`)].map((e) => e.getBoundingClientRect());
    boxes.forEach((a, i) => { if (a.left < own.left - 0.5) out.push('left'); boxes.slice(i + 1).forEach((b) => {
      if (a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom) out.push(kind); }); });
  }
  return out;
}"""


@pytest.fixture(scope="module")
def address(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("charts")) as found:
        play(found, "label", 60)
        yield found


@pytest.fixture
def visit(browser: Any, address: str) -> Visit:
    return Visit(window(browser), address)


def test_ticks_are_round_few_and_inside(visit: Visit) -> None:
    page = visit.go("/")
    cases = [(a, b, n, w) for a in (0, -0.3, -7, 1e-9, 12345) for b in (1e-8, 1.02, 9, 1e6, 3e12)
             for n in (1, 2, 5, 6) for w in (False, True) if b > a]  # fmt: skip
    found = page.evaluate(
        """async (cases) => { const { ticks, tickLabel } = await import('/ui/files/charts.js');
        return cases.map(([a, b, n, w]) => { const found = ticks(a, b, n, w);
            return [found.step, found.values, found.values.map((v) => tickLabel(v, found))]; }); }""",
        cases,
    )
    for (low, high, count, whole), (step, values, labels) in zip(cases, found, strict=True):
        assert len(values) <= count / 0.95 + 1, (low, high, values)
        slack = 2e-9 * step
        assert all(low - slack <= value <= high + slack for value in values)
        assert len(set(labels)) == len(labels), labels  # none of them twice
        assert not whole or all(value == int(value) for value in values)


@pytest.mark.parametrize("width", [180, 330, 900])
def test_nothing_lies_over_anything_else(visit: Visit, width: int) -> None:
    page = visit.go("/")
    at = [1_000_000 * (i + 1) for i in range(9)]
    values = [0.001 * i for i in range(9)]
    names = ["under 1 s", "1 to 10 s", "10 to 60 s", "1 to 10 min", "10 to 60 min", "1 to 24 h", "more than a day"]
    curve = {"values": values, "low": values, "high": [v + 0.01 for v in values], "colour": "accent", "dots": True}
    pictures: list[dict[str, Any]] = [
        {
            "kind": "lines",
            "x": {"title": "x", "from": 0, "whole": True},
            "y": {"title": "y"},
            "at": at,
            "lines": [curve],
        },
        {"kind": "columns", "names": names, "values": [0, 3, 9, 1, 0, 0, 2], "y": {"whole": True, "count": 4}},
        {"kind": "bars", "names": [["a" * 26, "× " + "b" * 24], ["(constant)"]], "values": [-1e-7, 2e-7]},
        {"kind": "bars", "names": [["one"]], "values": [3.0]},
    ]
    for picture in pictures:
        page.evaluate(DRAW, [picture, width, 190])
        page.locator("#own svg").wait_for()
        assert page.evaluate(CROWDED) == [], picture["kind"]
        assert "NaN" not in page.locator("#own svg").evaluate("e => e.outerHTML")
    visit.leave()


def test_one_point_and_points_that_are_missing(visit: Visit) -> None:
    page = visit.go("/")
    line = {"colour": "good", "values": [0.5]}
    axes: dict[str, Any] = {"kind": "lines", "x": {"from": 0, "whole": True}, "y": {}}
    page.evaluate(DRAW, [{**axes, "at": [1], "lines": [line]}, 300, 200])
    assert (page.locator("#own .dot").count(), page.locator("#own .line").count()) == (1, 0)
    line["values"] = [None, 1.0, None, 2.0]
    page.evaluate(DRAW, [{**axes, "at": [1, 2, 3, 4], "lines": [{**line, "dots": True}]}, 300, 200])
    assert page.locator("#own .dot").count() == 2
    assert "NaN" not in page.locator("#own svg").evaluate("e => e.outerHTML")
    for key in ("End", "ArrowLeft"):
        page.locator("#own").press(key)
    assert page.locator("#own .reading").inner_text() == "value 2 2"
    visit.leave()


def test_values_are_read_by_the_pointer(visit: Visit) -> None:
    page = visit.go("/#model=label")
    learnt(page, 60)
    reading, dots = page.locator("#curve .reading"), page.locator("#curve .series .dot")
    page.locator("#curve").scroll_into_view_if_needed()
    assert reading.is_hidden()
    for i in (0, dots.count() - 1):
        dots.nth(i).hover(force=True)
        reading.wait_for()
        assert reading.inner_text().startswith("feedback 1–" if i == 0 else "feedback 5")
        assert reading.get_attribute("aria-live") == "off"  # who points, looks
    box, inside = page.locator("#curve").bounding_box(), reading.bounding_box()
    assert box["x"] <= inside["x"]
    assert inside["x"] + inside["width"] <= box["x"] + box["width"] + 0.5
    page.mouse.move(5, 5)
    reading.wait_for(state="hidden")
    visit.leave()


def test_values_are_read_by_the_keyboard_and_aloud(visit: Visit) -> None:
    page = visit.go("/#model=label")
    learnt(page, 60)
    chart, reading = page.locator("#curve"), page.locator("#curve .reading")
    assert "in the latest window" in (chart.get_attribute("aria-label") or "")
    said = []
    for key in ("ArrowRight", "ArrowRight", "End", "ArrowRight", "ArrowLeft", "Home"):
        chart.press(key)
        said.append(reading.inner_text().split()[1])
    assert said[0] == said[5]
    assert said[2] == said[3]  # it ends there
    assert len(set(said)) == 4
    assert (reading.get_attribute("role"), reading.get_attribute("aria-live")) == ("status", "polite")
    chart.press("Escape")
    assert reading.is_hidden()
    weights = page.locator(".chart.bars")
    weights.press("ArrowUp")  # from the end
    assert weights.locator(".reading b").is_visible()
    assert weights.get_attribute("aria-description")
    visit.leave()


def test_a_chart_fits_the_window_when_that_changes(visit: Visit) -> None:
    page = visit.go("/#model=label")
    learnt(page, 60)
    for width in (500, 1000):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function(
            "() => { const c = document.querySelector('#curve');"
            " return c.querySelector('svg').viewBox.baseVal.width === c.clientWidth; }"
        )
    assert page.locator("#curve svg").count() == 1
    visit.leave()


def test_worth_candidates_time_and_a_large_chart(visit: Visit) -> None:
    """The page of a model begins with health and worth; its curve has times, marks and a range, and can be enlarged."""
    with httpx.Client(base_url=visit.address, timeout=60) as app:
        held = {"loop": "choose", "feedback": "reward", "holdout": {"share": 0.5, "policy": "first", "salt": "s"}}
        app.put("/v1/models/held", json=held).raise_for_status()
        for i in range(90):
            asked = {"candidates": [{"id": "a"}, {"id": f"{'long' * 12}-b"}], "unit": f"u{i}"}
            made = app.post("/v1/models/held/decisions", json=asked).json()
            heard = {"reward": float(made["choice"] != "a")}
            app.post(f"/v1/decisions/{made['decision']}/feedback", json=heard).raise_for_status()
        app.patch("/v1/models/held", json={"explore": 0.2}).raise_for_status()
    page = visit.go("/#model=held")
    page.locator("#candidates tbody tr").nth(1).wait_for()
    order = page.evaluate("() => [...document.querySelectorAll('main h2')].map((each) => each.textContent)")
    assert order[:3] == ["Health", "What it is worth", "Candidates"]
    assert order[-1] == "Regret bound"
    assert page.locator("#worth-verdict").inner_text() == "better than the holdout"
    assert page.locator("#candidates tbody th").first.inner_text() == "longlonglonglonglo…onglonglonglong-b"
    page.locator(".recent button").first.click()
    page.locator("#question h3", has_text="Best answers").wait_for()
    assert page.locator("#question details").count() == 1
    page.keyboard.press("Escape")
    page.get_by_label("Range of time").select_option("3600")
    page.wait_for_function("() => Number(document.querySelector('#curve')?.dataset.points) >= 3")
    page.get_by_role("button", name="Enlarge Mean reward").click()
    assert page.locator("#curve").bounding_box()["height"] > 400
    page.keyboard.press("Escape")
    assert page.locator("#curve").bounding_box()["height"] < 400
    times = {"kind": "lines", "x": {"time": True}, "y": {}, "at": [1.79e12 + 36e5 * i for i in range(30)]}
    marks = [{"at": 1.79e12 + 9e6, "text": "changed explore"}, {"at": 0, "text": "outside"}]
    values = [{"values": [float(i) for i in range(30)], "colour": "accent"}]
    page.evaluate(DRAW, [times | {"lines": values, "events": marks}, 500, 200])
    assert page.locator("#own .event").count() == 1
    assert len(page.locator("#own .tick-x").all_text_contents()) in (3, 4, 5)
    assert page.evaluate(CROWDED) == []
    visit.leave()


def test_spend_and_price_of_a_budget_are_drawn(visit: Visit) -> None:
    with httpx.Client(base_url=visit.address, timeout=60) as app:
        paid = {"loop": "choose", "feedback": "reward", "budget": {"usd": 3.0}, "rewards": "sum"}
        app.put("/v1/models/paid", json=paid).raise_for_status()
        for _ in range(60):
            offered = [{"id": id, "costs": {"usd": cost}} for id, cost in (("a", 1.0), ("b", 4.0))]
            made = app.post("/v1/models/paid/decisions", json={"candidates": offered}).json()
            heard = {"reward": 0.5, "final": True}
            app.post(f"/v1/decisions/{made['decision']}/feedback", json=heard).raise_for_status()
    page = visit.go("/#model=paid")
    page.wait_for_function(
        "() => document.querySelectorAll('#spend-usd svg .line').length === 2"
    )  # one of them is flat
    assert "the limit is 3" in page.locator("#spend-usd").get_attribute("aria-label")
    assert page.locator("#spend-usd .dot").count() == 3
    assert page.locator("#price-usd svg .line").count() == 1
    text = page.locator("section", has=page.locator("#settings-title")).inner_text()
    assert "3 usd per decision" in text
    assert "sum" in text
    visit.leave()


def test_hundreds_of_models_are_a_table(visit: Visit) -> None:
    with httpx.Client(base_url=visit.address, timeout=60) as app:
        for i in range(14):
            app.put(f"/v1/models/t{i:02d}", json={"loop": "choose"}).raise_for_status()
    page = visit.go("/")
    page.locator(".list tbody tr").nth(13).wait_for()
    page.locator(".list").get_by_role("button", name="Model").click()
    page.locator(".list th[aria-sort=ascending]").wait_for()
    assert page.evaluate("() => location.hash") == "#sort=name"
    page.get_by_role("button", name="Cards").click()
    page.locator(".models a").first.wait_for()
    assert page.locator(".list tbody tr").count() == 0
    visit.leave()

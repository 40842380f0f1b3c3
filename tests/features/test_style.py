"""Texts as numbers against the slow judge; traits by hand; changes bounded in time."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import reference_drafts as reference
from smidgen.features.style import (
    CELLS,
    DIM,
    LETTER_COLUMNS,
    STYLE_COLUMNS,
    TRAITS,
    WORD_COLUMNS,
    changed_share,
    read_style,
    token_distance,
)

alphabet = st.sampled_from(
    [*"aB ab' !?.,-_1\n\t", "ß", "É", "é", "ı", "²", "漢", "🙂", "—", "\u200d", "\x1c", "\ud800"]
)
texts = st.text(alphabet, max_size=60) | st.text(max_size=30)


def traits(text: str) -> dict[str, float]:
    return dict(zip((trait.name for trait in TRAITS), read_style(text).traits.tolist(), strict=True))


class TestAgainstTheJudge:
    @settings(max_examples=150)
    @given(texts)
    @example("")
    @example("a")
    @example("the cat the cat the dog")
    def test_words_are_those_of_the_vectorizer(self, text: str) -> None:
        row = read_style(text).row[STYLE_COLUMNS : STYLE_COLUMNS + WORD_COLUMNS]
        np.testing.assert_allclose(row, reference.words_row(text, WORD_COLUMNS), atol=1e-6)

    @settings(max_examples=100)
    @given(texts)
    @example("abc")
    def test_letters(self, text: str) -> None:
        row = read_style(text).row[STYLE_COLUMNS + WORD_COLUMNS :]
        np.testing.assert_allclose(row, reference.letters_row(text, LETTER_COLUMNS), atol=1e-6)

    @settings(max_examples=150)
    @given(texts, texts)
    def test_tokens_are_distinguished_salted_or_not(self, a: str, b: str) -> None:
        expected = reference.levenshtein(reference.tokens(a), reference.tokens(b))
        assert token_distance(read_style(a).tokens, read_style(b).tokens) == expected
        salted = [read_style(text, b"a salt of bytes").tokens for text in (a, b)]
        assert token_distance(salted[0], salted[1]) == expected

    @settings(max_examples=60)
    @given(st.lists(st.integers(0, 9), max_size=150), st.lists(st.integers(0, 9), max_size=150))
    def test_distance(self, a: list[int], b: list[int]) -> None:
        found = token_distance(np.array(a, np.int64), np.array(b, np.int64))
        assert found == reference.levenshtein(a, b)

    def test_columns_are_whole_and_finite(self) -> None:
        for text in ("", "a", "x" * 5000, "Hello " * 3000, "!?" * 4000, "🙂" * 500):
            prose = read_style(text)
            assert prose.row.shape == (DIM,)
            assert np.isfinite(prose.row).all()
            assert np.isfinite(prose.traits).all()
            np.testing.assert_array_equal(prose.row.astype(np.float32).astype(np.float64), prose.row)


class TestTraits:
    @pytest.mark.parametrize(
        ("name", "value", "text"),
        [
            ("length", 4, "One two. Three four!"),
            ("sentence length", 2, "One two. Three four!"),
            ("paragraphs", 2, "One.\n\nTwo.\n  three"),
            ("bullet points", 2, "List:\n- one\n• two\n-three"),
            ("numbered points", 2, "1. one\n2) two\n3 three"),
            ("headings", 2, "# One\n**Two** three"),
            ("exclamation marks", 3, "Oh! No!!"),
            ("question marks", 1, "Really?"),
            ("emoji", 3, "Well 🙂 yes :) and ;-)"),
            ("numbers", 2, "12 of 3rd"),
            ("commas", 1, "One, two. Three, four."),
            ("dashes", 3, "One — two – three - four-five"),
            ("colons", 2, "One: two; three https://example.org"),
            ("links", 1, "One: two; three https://example.org"),
            ("brackets", 1, "One (two) :-("),
            ("quotes", 2, 'He said "no"'),
            ("ellipses", 2, "Well... so…"),
            ("capitals", 1, "NOW or A never"),
            ("small letters", 0.5, "one. Two."),
            ("contractions", 3, "Don't, it's, we’ll, Ann's"),
            ("code", 2, "`x`"),
            ("greeting", 1, "Good morning Ann"),
            ("greeting", 0, "I said hello"),
            ("sign-off", 1, "It is done.\n\nKind regards,\nTom Smith"),
            ("sign-off", 0, "Regards are sent by all of us to each one of you today."),
            ("opening", 1, "Thank you for your message. It is done."),
            ("opening", 0, "It is done."),
            ("hedges", 2, "Perhaps I think so"),
            ("thanks", 1, "Much appreciated"),
            ("apologies", 1, "Sorry about that"),
            ("please", 1, "please come"),
            ("offers", 1, "Let me know."),
            ("I", 5.0, "I slept"),
        ],
    )
    def test_what_is_counted(self, name: str, value: float, text: str) -> None:
        assert traits(text)[name] == pytest.approx(value)

    def test_formality_rises_with_formal_words(self) -> None:
        formal, casual = traits("We shall inform you prior to Friday"), traits("Hey, we're gonna tell you")
        assert formal["formality"] > 0 > casual["formality"]

    def test_every_trait_has_a_name_of_its_own(self) -> None:
        assert len({trait.name for trait in TRAITS}) == len(TRAITS) <= STYLE_COLUMNS


class TestChanges:
    def test_the_share_is_over_the_longer_text(self) -> None:
        share = [
            changed_share(read_style("a b c d").tokens, read_style(text).tokens)
            for text in ("a b c d", "a b c", "x", "")
        ]
        assert share == [0.0, 0.25, 1.0, 1.0]
        assert changed_share(read_style("").tokens, read_style("").tokens) == 0.0

    def test_marks_case_and_lines_count(self) -> None:
        for before, after in (("Yes!", "Yes"), ("yes", "Yes"), ("a b", "a\nb")):
            assert changed_share(read_style(before).tokens, read_style(after).tokens) > 0.0

    def test_the_longest_texts_cost_little(self) -> None:
        rng = np.random.default_rng(0)
        token_distance(np.arange(100), np.arange(50, 200))
        for size in (16_000, 60_000):
            a, b = rng.integers(9_000, size=size), rng.integers(9_000, size=size)
            start = time.process_time()
            found = token_distance(a, b)
            assert time.process_time() - start < 5.0
            assert 0 < found <= size
            assert (size * size > CELLS) == (size == 60_000)

    def test_beyond_the_limit_it_is_never_more_than_the_truth(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from smidgen.features import style as changes

        rng = np.random.default_rng(1)
        for _ in range(50):
            a, b = (rng.integers(6, size=int(rng.integers(1, 40))) for _ in range(2))
            exact = token_distance(a, b)
            monkeypatch.setattr(changes, "CELLS", 0)
            assert token_distance(a, b) <= exact
            monkeypatch.undo()


def test_digests_say_nothing_without_their_salt() -> None:
    one, other, again = (read_style("the cat", salt).tokens.tolist() for salt in (b"s" * 16, b"t" * 16, b"s" * 16))
    assert one == again
    assert not set(one) & set(other)
    plain: Any = read_style("the cat").tokens.tolist()
    assert not set(plain) & set(one)

"""Rankings against the slow judge, in every form of features, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import reference
from processes import python
from smidgen import Choice, ExtendedRanking, PreferencePerceptron, Ranking, from_chain
from smidgen.errors import InvalidArgument, InvalidFeatures, InvalidFeedback, SmidgenError
from strategies import RankingProblem, ranking_problems, sparse_forms

DOCS = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
FORMS = sorted(sparse_forms(DOCS))


def close(found: Any, expected: Any) -> None:
    scale = 1.0 + float(np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * scale)


class TestAgainstTheJudge:
    @given(ranking_problems())
    def test_phi(self, p: RankingProblem) -> None:
        close(Ranking(p.docs, p.top).phi(p.shown), reference.ranking_phi(p.docs, p.shown, p.top))

    @given(ranking_problems())
    def test_argmax_sorts_and_keeps_ties_in_order(self, p: RankingProblem) -> None:
        assert Ranking(p.docs, p.top).argmax(p.w).tolist() == reference.ranking_argmax(p.docs, p.w)

    @given(st.lists(st.sampled_from([0.0, -0.0, 1.0, -2.0, 0.5, np.inf, -np.inf, np.nan]), min_size=1, max_size=80))
    def test_best_is_numpys_stable_sort(self, scores: list[float]) -> None:
        found = Ranking(np.ones((len(scores), 1))).best(np.array(scores))
        assert found.tolist() == np.argsort(-np.array(scores), kind="stable").tolist()
        assert not found.flags.writeable

    def test_best_takes_any_array_of_scores(self) -> None:
        query, scores = Ranking(np.ones((5, 1))), np.array([3, 1, 2, 9, 2, 7, 5, 0, 3, 4])
        assert query.best(scores[::2]).tolist() == np.argsort(-scores[::2], kind="stable").tolist()
        assert query.best(scores[:5].astype(np.float32)).tolist() == np.argsort(-scores[:5], kind="stable").tolist()

    def test_argmax_keeps_ties_in_order_in_long_lists_too(self) -> None:
        """Long lists are sorted in runs, which are merged."""
        rng = np.random.default_rng(0)
        docs = rng.integers(-1, 2, size=(300, 2)).astype(float)
        for docs_ in (docs, sparse.csr_array(docs)):
            assert Ranking(docs_).argmax(np.array([1.0, -1.0])).tolist() == reference.ranking_argmax(docs, [1.0, -1.0])

    @given(ranking_problems())
    def test_argmax_has_the_highest_utility(self, p: RankingProblem) -> None:
        query = Ranking(p.docs, p.top)
        best, other = p.w @ query.phi(query.argmax(p.w)), p.w @ query.phi(p.shown)
        assert best >= other - 1e-9 * (1.0 + abs(best) + abs(other))

    @given(ranking_problems(), st.randoms(use_true_random=False))
    def test_difference_is_that_of_the_feature_maps(self, p: RankingProblem, random: Any) -> None:
        better = random.sample(p.shown, len(p.shown))
        expected = reference.ranking_phi(p.docs, better, p.top) - reference.ranking_phi(p.docs, p.shown, p.top)
        close(Ranking(p.docs, p.top).difference(better, p.shown), expected)

    @given(ranking_problems())
    def test_difference_of_a_ranking_to_itself_is_exactly_zero(self, p: RankingProblem) -> None:
        delta = Ranking(p.docs * 1e280, p.top).difference(p.shown, np.array(p.shown))
        assert delta.shape == p.w.shape
        assert not delta.any()

    @given(ranking_problems())
    def test_what_moves_below_the_top_makes_no_difference(self, p: RankingProblem) -> None:
        below = [*p.shown[: p.top], *reversed(p.shown[p.top :])]
        assert not Ranking(p.docs, p.top).difference(below, p.shown).any()

    def test_the_discounts_by_hand(self) -> None:
        """1/log2(2), 1/log2(3), 1/log2(4)."""
        assert Ranking(np.eye(4), top=3).phi([2, 0, 1, 3]).tolist() == pytest.approx([0.63092975, 0.5, 1.0, 0.0])


class TestSparse:
    @settings(max_examples=60)
    @given(ranking_problems(max_docs=6))
    def test_every_form_equals_dense_bit_for_bit(self, p: RankingProblem) -> None:
        dense, back = Ranking(p.docs, p.top), list(reversed(p.shown))
        for name, docs in sparse_forms(p.docs).items():
            query = Ranking(docs, p.top)
            assert len(query) == len(dense), name
            assert query.dim == dense.dim, name
            np.testing.assert_array_equal(query.scores(p.w), dense.scores(p.w), name)
            np.testing.assert_array_equal(query.argmax(p.w), dense.argmax(p.w), name)
            np.testing.assert_array_equal(query.phi(p.shown), dense.phi(p.shown), name)
            np.testing.assert_array_equal(query.difference(back, p.shown), dense.difference(back, p.shown), name)

    @pytest.mark.parametrize("form", FORMS)
    def test_the_callers_matrix_is_left_as_it_was(self, form: str) -> None:
        given_, again = sparse_forms(DOCS)[form], sparse_forms(DOCS)[form]
        Ranking(given_).phi([2, 1, 0])
        assert given_.nnz == again.nnz
        np.testing.assert_array_equal(given_.data, again.data)
        np.testing.assert_array_equal(given_.toarray(), again.toarray())

    def test_docs_gives_csr_back(self) -> None:
        docs = Ranking(sparse.coo_array(DOCS)).docs
        assert docs.format == "csr"
        np.testing.assert_array_equal(docs.toarray(), DOCS)

    def test_learning_from_sparse_equals_learning_from_dense(self) -> None:
        rng = np.random.default_rng(3)
        learners = {form: PreferencePerceptron(dim=6) for form in ("dense", *FORMS)}
        for _ in range(10):
            docs, better = rng.normal(size=(7, 6)) * (rng.random((7, 6)) < 0.4), rng.permutation(7)
            for form, learner in learners.items():
                query = Ranking(docs if form == "dense" else sparse_forms(docs)[form], top=4)
                learner.learn(learner.decide(query), better)
        expected = learners.pop("dense").weights
        assert expected.any()
        for form, learner in learners.items():
            np.testing.assert_array_equal(learner.weights, expected, form)


class TestFeaturesThatAreRefused:
    @pytest.mark.parametrize(
        "docs",
        [
            pytest.param([[0.0, np.nan]], id="nan"),
            pytest.param([[0.0, np.inf]], id="inf"),
            pytest.param([[-np.inf, 0.0]], id="minus inf"),
            pytest.param(np.ones(3), id="one dimension"),
            pytest.param(np.ones((2, 2, 2)), id="three dimensions"),
            pytest.param(1.0, id="a number"),
            pytest.param([], id="an empty list"),
            pytest.param(np.ones((0, 3)), id="no documents"),
            pytest.param(np.ones((3, 0)), id="no features"),
            pytest.param([["a", "b"]], id="strings"),
            pytest.param("docs", id="a string"),
            pytest.param([[1.0 + 1.0j, 0.0]], id="complex"),
            pytest.param([[1.0, 2.0], [3.0]], id="ragged"),
            pytest.param([[1.0, None]], id="None inside"),
            pytest.param(None, id="None"),
            pytest.param(np.array([["2020-01-01"]], dtype="datetime64[D]"), id="dates"),
            pytest.param({"a": [1.0, 2.0]}, id="a dict"),
            pytest.param(sparse.csr_array([[np.nan, 1.0]]), id="sparse nan"),
            pytest.param(sparse.csr_array([[np.inf, 1.0]]), id="sparse inf"),
            pytest.param(sparse.csr_array([[1.0j, 1.0]]), id="sparse complex"),
            pytest.param(sparse.csr_array((0, 3)), id="sparse without documents"),
            pytest.param(sparse.csr_array((3, 0)), id="sparse without features"),
            pytest.param(sparse.coo_array(np.ones(3)), id="sparse with one dimension"),
        ],
    )
    @pytest.mark.parametrize("make", [Ranking, Choice])
    def test_with_a_typed_error(self, make: Any, docs: Any) -> None:
        with pytest.raises(InvalidFeatures, match="; "):
            make(docs)

    def test_a_csr_matrix_that_points_outside(self) -> None:
        docs = sparse.csr_array(DOCS)
        docs.indices[0] = 7
        with pytest.raises(InvalidFeatures, match="CSR"):
            Ranking(docs)

    def test_a_csc_matrix_that_points_outside(self) -> None:
        """In a process of its own, since scipy's conversion writes wherever the indices point."""
        script = (
            "import numpy as np\n"
            "from scipy import sparse\n"
            "from smidgen import Ranking\n"
            "from smidgen.errors import InvalidFeatures\n"
            "docs = sparse.csc_array(np.eye(4))\n"
            "docs.indices[1] = 100_000_000\n"
            "try:\n"
            "    Ranking(docs)\n"
            "except InvalidFeatures:\n"
            "    print('refused')\n"
        )
        ended = python("-c", script)
        assert (ended.returncode, ended.stdout.strip()) == (0, "refused")

    @pytest.mark.parametrize("top", [0, -1, 2.5, True, "5", None, np.array([5]), 5.0], ids=repr)
    def test_a_top_that_is_no_count(self, top: Any) -> None:
        with pytest.raises(InvalidArgument, match="top"):
            Ranking(DOCS, top=top)

    @pytest.mark.parametrize("w", [np.ones(1), np.ones(3), np.ones((1, 2))], ids=["short", "long", "two dimensions"])
    @pytest.mark.parametrize("docs", [DOCS, sparse.csr_array(DOCS)], ids=["dense", "sparse"])
    @pytest.mark.parametrize("make", [Ranking, Choice])
    def test_weights_of_another_dimension(self, make: Any, docs: Any, w: Any) -> None:
        """Kernels check nothing: without a check, short weights would be read beyond their end."""
        with pytest.raises(SmidgenError):
            make(docs).argmax(w)


class TestRankingsThatAreRefused:
    BAD = (
        pytest.param([0, 1, 1], id="a document twice"),
        pytest.param([0, 1], id="a document missing"),
        pytest.param([0, 1, 2, 3], id="one too many"),
        pytest.param([0, 1, 3], id="out of range"),
        pytest.param([0, 1, -1], id="negative"),
        pytest.param([0.0, 1.0, 2.0], id="floats"),
        pytest.param([True, False, True], id="bools"),
        pytest.param(["0", "1", "2"], id="strings"),
        pytest.param([0, 1, 2 + 0j], id="complex"),
        pytest.param([[0, 1, 2]], id="two dimensions"),
        pytest.param([[0, 1], [2]], id="ragged"),
        pytest.param([], id="empty"),
        pytest.param(0, id="a number"),
        pytest.param(None, id="None"),
        pytest.param(np.array([0, 1, 2**63 + 2], dtype=np.uint64), id="too large for int64"),
    )

    @pytest.mark.parametrize("y", BAD)
    def test_with_a_typed_error(self, y: Any) -> None:
        query = Ranking(DOCS)
        for refuse in (
            lambda: query.check(y),
            lambda: query.phi(y),
            lambda: query.difference(y, [0, 1, 2]),
            lambda: query.difference([0, 1, 2], y),
        ):
            with pytest.raises(InvalidFeedback, match="; "):
                refuse()

    @pytest.mark.parametrize("y", BAD)
    def test_as_feedback(self, y: Any) -> None:
        learner = PreferencePerceptron(dim=2)
        decision = learner.decide(Ranking(DOCS))
        with pytest.raises(InvalidFeedback):
            learner.learn(decision, y)
        assert learner.rounds == 0

    def test_the_message_names_the_document_and_its_place(self) -> None:
        with pytest.raises(InvalidFeedback, match=r"document 1 at position 2 appears twice"):
            Ranking(DOCS).check([0, 1, 1])

    def test_features_of_another_learner(self) -> None:
        with pytest.raises(InvalidFeatures, match="dim=3"):
            PreferencePerceptron(dim=3).decide(Ranking(DOCS))


class TestNobodyElsesArray:
    """A later change of the caller's array does not change what was shown."""

    @pytest.mark.parametrize(
        "given_",
        [
            pytest.param(DOCS.copy(), id="float64"),
            pytest.param(DOCS.astype(np.float32), id="float32"),
            pytest.param(np.asfortranarray(DOCS), id="Fortran order"),
            pytest.param(np.ones((6, 2))[::2], id="strided"),
            pytest.param(np.eye(2, dtype=np.int64), id="ints"),
            pytest.param(DOCS.astype(np.dtype("f8", metadata={"unit": "cm"})), id="dtype with metadata"),
            pytest.param(np.ma.masked_array(DOCS.copy()), id="masked"),
        ],
    )
    def test_writing_to_the_array_later_changes_nothing(self, given_: Any) -> None:
        query = Ranking(given_)
        before = np.array(given_, dtype=np.float64)
        given_[...] = 7
        np.testing.assert_array_equal(query.docs, before)

    def test_a_read_only_view_of_an_array_that_can_be_written_to(self) -> None:
        base = DOCS.copy()
        view = base.view()
        view.flags.writeable = False
        query = Ranking(view)
        base[...] = 7.0
        np.testing.assert_array_equal(query.docs, DOCS)

    def test_lists(self) -> None:
        rows = DOCS.tolist()
        query = Ranking(rows)
        rows[0][0] = 7.0
        np.testing.assert_array_equal(query.docs, DOCS)

    @pytest.mark.parametrize("form", FORMS)
    def test_sparse(self, form: str) -> None:
        given_ = sparse_forms(DOCS)[form]
        query = Ranking(given_)
        given_.data[:] = 7.0
        np.testing.assert_array_equal(query.docs.toarray(), DOCS)

    def test_a_read_only_array_is_shared(self) -> None:
        docs = DOCS.copy()
        docs.flags.writeable = False
        query = Ranking(docs)
        assert np.shares_memory(query.docs, docs)
        assert not np.shares_memory(Ranking(DOCS).docs, DOCS)

    def test_the_callers_array_stays_writable(self) -> None:
        docs = DOCS.copy()
        Ranking(docs)
        docs[0, 0] = 7.0
        assert docs[0, 0] == 7.0

    def test_what_it_gives_out_is_read_only(self) -> None:
        query = Ranking(DOCS)
        for array in (query.docs, query.argmax(np.ones(2)), Ranking(sparse.csr_array(DOCS)).docs.data):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1


class TestExtended:
    """Rankings with documents that only a later query showed."""

    @staticmethod
    def expected(docs: Any, later: Any, order: list[int], shown: list[int], top: int) -> Any:
        everything = np.vstack([docs, later])
        return reference.ranking_phi(everything, order, top) - reference.ranking_phi(docs, shown, top)

    @given(ranking_problems(max_docs=5), st.integers(1, 4), st.randoms(use_true_random=False))
    def test_all_later_documents_clicked(self, p: RankingProblem, more: int, random: Any) -> None:
        later = np.array([[random.randint(-4, 4) / 4 for _ in p.w] for _ in range(more)])
        clicks = random.sample(range(len(p.docs)), random.randint(0, len(p.docs)))
        clicks += range(len(p.docs), len(p.docs) + more)
        random.shuffle(clicks)
        better = from_chain(p.shown, [clicks], later=later)
        assert better.order.tolist() == reference.from_clicks(p.shown, clicks)
        delta = Ranking(p.docs, p.top).difference(better, p.shown)
        close(delta, self.expected(p.docs, later, better.order.tolist(), p.shown, p.top))

    @given(ranking_problems(max_docs=5), st.integers(1, 4), st.randoms(use_true_random=False))
    def test_any_documents_clicked(self, p: RankingProblem, more: int, random: Any) -> None:
        later = np.array([[random.randint(-4, 4) / 4 for _ in p.w] for _ in range(more)])
        clicks = random.sample(range(len(p.docs) + more), random.randint(0, len(p.docs) + more))
        better = from_chain(p.shown, [clicks[::2], clicks[1::2]], later=later)
        query = Ranking(p.docs, p.top)
        order = better.order.tolist()
        close(query.phi(better), reference.ranking_phi(np.vstack([p.docs, later]), order, p.top))
        close(query.difference(better, p.shown), self.expected(p.docs, later, order, p.shown, p.top))

    @pytest.mark.parametrize("later_form", ["dense", "sparse"])
    @pytest.mark.parametrize("form", ["dense", "sparse"])
    def test_learnt_by_a_perceptron(self, form: str, later_form: str) -> None:
        rng = np.random.default_rng(5)
        docs, later = rng.normal(size=(6, 4)), rng.normal(size=(2, 4))
        learner = PreferencePerceptron(dim=4)
        first = learner.decide(Ranking(docs if form == "dense" else sparse.csr_array(docs), top=3))
        better = from_chain(
            first.action, [[4], [7, 1], [6]], later=later if later_form == "dense" else sparse.csr_array(later)
        )
        assert isinstance(better, ExtendedRanking)
        assert better.order.tolist() == [4, 7, 1, 6, 0, 2, 3, 5]
        learner.learn(first, better)
        close(learner.weights, self.expected(docs, later, [4, 7, 1, 6, 0, 2, 3, 5], first.action.tolist(), 3))
        assert learner.rounds == 1

    def test_a_later_document_that_nobody_clicked_is_left_out(self) -> None:
        """Three documents shown, two more seen later, one of them clicked: four are ranked, and five places count."""
        docs, later = np.eye(3), np.array([[0.0, 2.0, 0.0], [5.0, 5.0, 5.0]])
        learner = PreferencePerceptron(dim=3)
        first = learner.decide(Ranking(docs, top=5))
        learner.learn(first, from_chain(first.action, [[2], [3]], later=later))
        close(learner.weights, self.expected(docs, later, [2, 3, 0, 1], [0, 1, 2], 5))

    def test_only_later_documents_have_features_that_the_shown_ones_lack(self) -> None:
        learner = PreferencePerceptron(dim=3)
        first = learner.decide(Ranking(np.array([[1.0, 0.0, 0.0], [0.5, 0.0, 0.0]]), top=1))
        learner.learn(first, from_chain(first.action, [[], [2]], later=np.array([[0.0, 0.0, 1.0]])))
        assert learner.weights.tolist() == [-1.0, 0.0, 1.0]

    def test_the_same_ranking_in_extended_form_teaches_nothing(self) -> None:
        learner = PreferencePerceptron(dim=2)
        first = learner.decide(Ranking(DOCS))
        learner.learn(first, ExtendedRanking(np.array([0, 1, 2, 3]), np.zeros((1, 2))))
        assert not learner.weights.any()
        assert learner.uninformative == 1

    @pytest.mark.parametrize(
        ("order", "later", "error"),
        [
            pytest.param([3, 0, 1], np.ones((1, 2)), InvalidFeedback, id="lacks a shown document"),
            pytest.param([4, 0, 1, 2], np.ones((1, 2)), InvalidFeedback, id="unknown document"),
            pytest.param([3, 3, 0, 1, 2], np.ones((1, 2)), InvalidFeedback, id="a document twice"),
            pytest.param([3.0, 0.0, 1.0, 2.0], np.ones((1, 2)), InvalidFeedback, id="floats"),
            pytest.param([3, 0, 1, 2], np.ones((1, 3)), InvalidFeatures, id="another dimension"),
            pytest.param([3, 0, 1, 2], np.array([[np.nan, 0.0]]), InvalidFeatures, id="nan"),
        ],
    )
    def test_refused(self, order: Any, later: Any, error: type[SmidgenError]) -> None:
        learner = PreferencePerceptron(dim=2)
        decision = learner.decide(Ranking(DOCS))
        with pytest.raises(error):
            learner.learn(decision, ExtendedRanking(order, later))
        assert learner.rounds == 0
        assert not learner.weights.any()

"""The contract of a store, to be run over one's own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from smidgen.service.storage.protocol import Store
from smidgen.testing import (
    store_bases,
    store_batches,
    store_besides,
    store_closings,
    store_decisions,
    store_sharing,
    store_texts,
)

Law = Callable[[Callable[[], Store], Store], None]


def check_store(make_store: Callable[[], Store]) -> None:
    """Hold a store against the contract of `smidgen.service.storage.protocol`.

    Parameters
    ----------
    make_store
        Opens the store. Every call opens the same place, which is empty at first; what was committed there is found
        again. A store that was opened before may have been left behind without being closed, as a crash would.

    Raises
    ------
    AssertionError
        At the first law that does not hold, with a sentence that says which.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from smidgen.service.storage.sqlite import SQLiteStore
    >>> from smidgen.testing import check_store
    >>> with TemporaryDirectory() as folder:
    ...     check_store(lambda: SQLiteStore(Path(folder), synchronous="OFF"))
    """
    for law in _LAWS:
        store = make_store()
        try:
            law(make_store, store)
        except AssertionError:
            raise
        except Exception as error:
            what = law.__name__.strip("_").replace("_", " ")
            raise AssertionError(f"the law '{what}' broke off with {type(error).__name__}: {error}") from error
        finally:
            with suppress(Exception):
                store.rollback()
            store.close()


_LAWS: tuple[Law, ...] = (
    store_batches.models_are_kept,
    store_batches.events_have_no_gaps,
    store_batches.a_batch_is_all_or_nothing,
    store_batches.a_command_is_undone_alone,
    store_batches.readers_see_what_is_committed,
    store_batches.a_moment_is_one,
    store_decisions.decisions_are_found,
    store_decisions.feedback_counts_once,
    store_decisions.the_fold_is_in_order,
    store_closings.silence_is_learnt_once,
    store_closings.a_decision_counts_when_it_is_shown,
    store_closings.feedback_can_be_taken_back,
    store_closings.a_model_goes_back,
    store_closings.a_key_can_be_forgotten,
    store_closings.all_that_changes_weights_is_told,
    store_closings.calls_are_known_again,
    store_closings.settings_can_change,
    store_decisions.states_are_kept,
    store_decisions.tokens_are_looked_up,
    store_decisions.events_of_operators_are_signed,
    store_batches.a_probe_means_nothing,
    store_batches.what_is_committed_lasts,
    store_decisions.questions_are_answered,
    store_besides.decisions_lie_beside_others,
    store_besides.what_lies_beside_is_taught_once,
    store_bases.models_have_a_second_life,
    store_bases.a_log_can_begin_with_a_base,
    store_bases.keys_have_bases_of_their_own,
    store_bases.a_base_lets_go_of_a_key,
    store_texts.texts_hold_any_character,
    store_sharing.shards_are_entered,
    store_sharing.a_shard_has_one_owner,
    store_sharing.writers_share,
)

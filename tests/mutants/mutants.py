"""Faults that somebody could put into the service, each with the test that must fail then.

A mutant is a small change of a source file that leaves it running. The first ones survived the whole suite once; the
others stand beside them, where data could be lost, learnt twice or shown to the wrong people.
"""

from __future__ import annotations

from typing import NamedTuple

STORE, MODELS, HTTP = "service/store/", "service/models/", "service/http/"
SURVIVORS, POWER = "tests/service/test_survivors.py", "tests/service/faults/test_power.py"
CONTRACT = "tests/service/test_stores.py::test_sqlite_keeps_the_contract"


class Mutant(NamedTuple):
    """A change, and who notices.

    Attributes
    ----------
    name
        What is wrong now.
    file
        Where, below ``src/smidgen``.
    old, new
        The text that is there once, and what stands there instead.
    killer
        The test that must fail.
    """

    name: str
    file: str
    old: str
    new: str
    killer: str


MUTANTS = [
    Mutant(
        "the window is ignored",
        STORE + "verbs.py",
        "learnt = not late and row.at <= until",
        "learnt = not late",
        f"{SURVIVORS}::test_the_window_holds_for_decisions_from_memory_and_from_disk",
    ),
    Mutant(
        "a decision that is told anew expires at another time",
        STORE + "log.py",
        "decision, event.at + body.window_s)",
        "decision, event.at + 2 * body.window_s)",
        f"{SURVIVORS}::test_the_window_holds_for_decisions_from_memory_and_from_disk",
    ),
    Mutant(
        "labels are swapped when they are not in sorted order",
        "service/loops/labelling.py",
        "return [*model.labels, *added] if",
        "return [*sorted(model.labels or ()), *added] if",
        f"{SURVIVORS}::test_labels_keep_the_order_in_which_they_were_given",
    ),
    Mutant(
        "only the answer's labels are sorted",
        "service/loops/label.py",
        'answer: Answer = {"label": labels[decision.action]}',
        'answer: Answer = {"label": sorted(labels)[decision.action]}',
        f"{SURVIVORS}::test_one_bit_and_propensities_go_with_the_right_labels",
    ),
    Mutant(
        "the snapshot's file is not synced",
        STORE + "snapshots.py",
        "            os.fsync(file.fileno())\n",
        "",
        f"{POWER}::test_a_snapshot_is_whole_and_in_its_place_before_older_ones_go",
    ),
    Mutant(
        "the snapshot's folder is not synced",
        STORE + "snapshots.py",
        "    modes.sync_folder(path.parent)\n",
        "",
        f"{POWER}::test_a_snapshot_is_whole_and_in_its_place_before_older_ones_go",
    ),
    Mutant(
        "all keys have the same seed",
        MODELS + "building.py",
        "f\"{made.params['seed']}:{key}\"",
        "f\"{made.params['seed']}\"",
        f"{SURVIVORS}::test_every_key_draws_for_itself",
    ),
    Mutant(
        "keys ignore the model's seed",
        MODELS + "building.py",
        "f\"{made.params['seed']}:{key}\"",
        'f"{key}"',
        f"{SURVIVORS}::test_every_key_draws_for_itself",
    ),
    Mutant(
        "the data folder's own name is not synced",
        STORE + "schema.py",
        "            if number == 0:",
        "            if number == -1:",
        f"{POWER}::test_a_folder_made_by_somebody_who_was_killed_has_a_name_that_lasts",
    ),
    Mutant(
        "commits are not synced",
        STORE + "schema.py",
        'connection.execute(f"PRAGMA synchronous = {synchronous}")',
        'connection.execute("PRAGMA synchronous = NORMAL")',
        f"{POWER}::test_a_commit_is_answered_after_its_sync_and_the_head_never_runs_ahead",
    ),
    Mutant(
        "the head runs ahead of the log",
        STORE + "sqlite.py",
        '        reach("before-commit")\n',
        '        reach("before-commit")\n'
        "        self._heads.write({slot: head.Head(counts.seq, counts.chain) for slot, counts in moved.items()})\n",
        f"{POWER}::test_a_commit_is_answered_after_its_sync_and_the_head_never_runs_ahead",
    ),
    Mutant(
        "a failed commit is answered as a success",
        MODELS + "writer.py",
        "[Settled(job.done, None, refusal) for job in jobs]",
        "[job.answer() for job in jobs]",
        "tests/service/faults/test_faults.py::test_the_log_goes_wrong",
    ),
    Mutant(
        "a failed batch stays in memory",
        MODELS + "batch.py",
        "        self._undo.back()\n\n    def run",
        "        self._undo.clear()\n\n    def run",
        "tests/service/faults/test_faults.py::test_the_log_goes_wrong",
    ),
    Mutant(
        "another feedback to the same decision is taken for the same",
        STORE + "rows.py",
        "    if made.feedback_hash != hash:\n",
        "    if made.feedback_hash is None:\n",
        CONTRACT,
    ),
    Mutant(
        "feedback is learnt twice",
        STORE + "verbs.py",
        "late, until = made.feedback_seq is not None, made.expires_at",
        "late, until = made.feedback_seq is not None and made.feedback_hash != row.hash, made.expires_at",
        CONTRACT,
    ),
    Mutant(
        "a snapshot of another past is used",
        MODELS + "states.py",
        "fits = state.own and first <= state.seq <= last",
        "fits = first <= state.seq <= last",
        f"{SURVIVORS}::test_a_state_of_another_log_is_not_used",
    ),
    Mutant(
        "the numbers of decisions are forgotten at a restart",
        MODELS + "learner_cache.py",
        "        learner.reserve(self._store.last_number(model.slot, key))\n",
        "",
        "tests/service/test_engine.py::test_a_reopened_service_goes_on_bit_for_bit",
    ),
    Mutant(
        "an event's chain does not cover those before it",
        STORE + "events.py",
        "return blake2b(before + seq.to_bytes",
        "return blake2b(seq.to_bytes",
        "tests/service/test_stores.py::test_the_chain_is_the_one_that_is_written_down",
    ),
    Mutant(
        "readers see what is not committed",
        STORE + "sqlite.py",
        "return SQLiteReaders(self.folder)",
        "return self",
        CONTRACT,
    ),
    Mutant(
        "counts and figures are of different moments",
        "service/insight/quality.py",
        "    with reading.moment():",
        "    if reading is not None:",
        "tests/service/test_concurrent_reads.py::test_an_answer_of_several_questions_is_of_one_moment",
    ),
    Mutant(
        "a log is told from one event too early",
        STORE + "sql_reads.py",
        'sql = f"{EVENTS} WHERE slot = ? AND seq > ? ORDER',
        'sql = f"{EVENTS} WHERE slot = ? AND seq >= ? ORDER',
        CONTRACT,
    ),
    Mutant(
        "a revoked token is still good",
        HTTP + "tokens.py",
        "if found is None or not same or found.revoked_at is not None:",
        "if found is None or not same:",
        "tests/service/test_tokens.py::test_a_token_from_its_making_to_its_end",
    ),
    Mutant(
        "any scope will do",
        HTTP + "tokens.py",
        'if scope not in rights.scopes and "admin" not in rights.scopes:',
        "if not rights.scopes:",
        "tests/service/test_tokens.py::test_rights_cover_what_they_say",
    ),
    Mutant(
        "a token of one model is for all",
        HTTP + "tokens.py",
        "if rights.model is not None and model != rights.model:",
        "if rights.model is not None and model is None:",
        "tests/service/test_tokens.py::test_rights_cover_what_they_say",
    ),
]

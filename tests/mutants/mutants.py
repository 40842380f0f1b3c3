"""Faults that somebody could put into the service, each with the test that must fail then.

A mutant is a small change of a source file that leaves it running. The first ones survived the whole suite once; the
others stand next to them, where data could be lost, learnt twice or shown to the wrong people.
"""

from __future__ import annotations

from typing import NamedTuple

RIGHTS = "tests/service/http/test_rights.py"
SURVIVORS, POWER = "tests/service/engine/test_survivors.py", "tests/service/faults/test_power.py"
CACHE = "tests/service/engine/test_learner_cache.py"
FOREIGN, WIRE = "tests/service/http/test_cross_origin.py", "tests/service/http/test_refused_connections.py"
CONTRACT = "tests/service/storage/test_stores.py::test_sqlite_keeps_the_contract"


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
        "a learner in use may leave memory",
        "service/engine/learner_cache.py",
        "while len(self._keyed) > max(len(self._pinned), 1) and",
        "while len(self._keyed) > 1 and",
        f"{CACHE}::test_a_learner_with_decisions_that_are_not_written_does_not_leave",
    ),
    Mutant(
        "a command pins nothing",
        "service/engine/engine.py",
        "        self.learners.begin_command()\n",
        "",
        f"{CACHE}::test_a_learner_with_decisions_that_are_not_written_does_not_leave",
    ),
    Mutant(
        "learners are unpinned before their decisions are written",
        "service/engine/decide_batch.py",
        "                    self._decide.write(pending)\n",
        "                    self._learners.unpin()\n",
        f"{CACHE}::test_a_learner_with_decisions_that_are_not_written_does_not_leave",
    ),
    Mutant(
        "a batch pins as many learners as it has keys",
        "service/engine/learner_cache.py",
        "return len(self._pinned) > 1 and self._over_limit",
        "return False",
        f"{CACHE}::test_a_batch_over_many_keys_keeps_few_learners",
    ),
    Mutant(
        "a batch learns what the app has chosen at its end",
        "service/engine/decide_batch.py",
        "if request.body.chosen is not None or paid or self._learners.is_crowded:",
        "if paid or self._learners.is_crowded:",
        f"{CACHE}::test_a_batch_learns_what_the_app_has_chosen_before_it_goes_on",
    ),
    Mutant(
        "a shadow that fails has begun all the same",
        "service/engine/learner_cache.py",
        "        if begun:\n",
        "        if not begun:\n",
        f"{CACHE}::test_a_shadow_that_fails_begins_with_what_its_log_says",
    ),
    Mutant(
        "the learner of a model whose making was undone stays in memory",
        "service/engine/registry.py",
        "        self.on_undone(model)\n",
        "",
        f"{CACHE}::test_nothing_is_known_of_a_model_whose_making_was_undone",
    ),
    Mutant(
        "the window is ignored",
        "service/storage/transitions.py",
        "in_time = not late and row.at <= until",
        "in_time = not late",
        f"{SURVIVORS}::test_the_window_holds_for_decisions_from_memory_and_from_disk",
    ),
    Mutant(
        "a decision that is repeated expires at another time",
        "service/engine/log_reader.py",
        "decision, event.at + body.window_s)",
        "decision, event.at + 2 * body.window_s)",
        f"{SURVIVORS}::test_the_window_holds_for_decisions_from_memory_and_from_disk",
    ),
    Mutant(
        "labels are swapped when they are not in sorted order",
        "service/loops/evaluate_rewards.py",
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
        "service/storage/snapshots.py",
        "            os.fsync(file.fileno())\n",
        "",
        f"{POWER}::test_a_snapshot_is_whole_and_in_its_place_before_older_ones_go",
    ),
    Mutant(
        "the snapshot's folder is not synced",
        "service/storage/snapshots.py",
        "    data_dir.sync_folder(path.parent)\n",
        "",
        f"{POWER}::test_a_snapshot_is_whole_and_in_its_place_before_older_ones_go",
    ),
    Mutant(
        "all keys have the same seed",
        "service/engine/blueprint.py",
        "f\"{original.params['seed']}:{key}\"",
        "f\"{original.params['seed']}\"",
        f"{SURVIVORS}::test_every_key_draws_for_itself",
    ),
    Mutant(
        "keys ignore the model's seed",
        "service/engine/blueprint.py",
        "f\"{original.params['seed']}:{key}\"",
        'f"{key}"',
        f"{SURVIVORS}::test_every_key_draws_for_itself",
    ),
    Mutant(
        "the data folder's own name is not synced",
        "service/storage/sqlite_schema.py",
        "            if number == 0:",
        "            if number == -1:",
        f"{POWER}::test_a_folder_made_by_somebody_who_was_killed_has_a_name_that_lasts",
    ),
    Mutant(
        "commits are not synced",
        "service/storage/sqlite_schema.py",
        'connection.execute(f"PRAGMA synchronous = {synchronous}")',
        'connection.execute("PRAGMA synchronous = NORMAL")',
        f"{POWER}::test_a_commit_is_answered_after_its_sync_and_the_head_never_runs_ahead",
    ),
    Mutant(
        "the head runs ahead of the log",
        "service/storage/sqlite.py",
        '        crash_point("before-commit")\n',
        '        crash_point("before-commit")\n'
        "        self._heads.write({s: snapshots.Head(c.seq, c.chain) for s, c in moved.items()})\n",
        f"{POWER}::test_a_commit_is_answered_after_its_sync_and_the_head_never_runs_ahead",
    ),
    Mutant(
        "a failed commit is answered as a success",
        "service/engine/writer.py",
        "[Completion(job.done, None, refusal) for job in jobs]",
        "[job.answer() for job in jobs]",
        "tests/service/faults/test_faults.py::test_the_log_goes_wrong",
    ),
    Mutant(
        "a failed batch stays in memory",
        "service/engine/engine.py",
        "        self._undo.rollback()\n\n    def run",
        "        self._undo.clear()\n\n    def run",
        "tests/service/faults/test_faults.py::test_the_log_goes_wrong",
    ),
    Mutant(
        "another feedback to the same decision is taken for the same",
        "service/storage/records.py",
        "    if made.feedback_hash != hash:\n",
        "    if made.feedback_hash is None:\n",
        CONTRACT,
    ),
    Mutant(
        "feedback is learnt twice",
        "service/storage/transitions.py",
        "late, until = made.feedback_seq is not None, made.expires_at",
        "late, until = made.feedback_seq is not None and made.feedback_hash != row.hash, made.expires_at",
        CONTRACT,
    ),
    Mutant(
        "a snapshot of another past is used",
        "service/engine/recovery.py",
        "fits = state.own and first <= state.seq <= last",
        "fits = first <= state.seq <= last",
        f"{SURVIVORS}::test_a_state_of_another_log_is_not_used",
    ),
    Mutant(
        "the numbers of decisions are forgotten at a restart",
        "service/engine/learner_cache.py",
        "        learner.reserve(self._store.last_number(model.shard, key))\n",
        "",
        "tests/service/test_engine.py::test_a_reopened_service_goes_on_bit_for_bit",
    ),
    Mutant(
        "an event's chain does not cover those before it",
        "service/log/events.py",
        "return blake2b(before + seq.to_bytes",
        "return blake2b(seq.to_bytes",
        "tests/service/storage/test_stores.py::test_the_chain_is_the_one_that_is_written_down",
    ),
    Mutant(
        "readers see what is not committed",
        "service/storage/sqlite.py",
        "return SqlStoreReader(ThreadConnections(self.folder), _states_in(Snapshots(self.folder)))",
        "return self",
        CONTRACT,
    ),
    Mutant(
        "counts and figures are of different moments",
        "service/engine/description.py",
        "    with reading.snapshot():",
        "    if reading is not None:",
        "tests/service/engine/test_concurrent_reads.py::test_an_answer_of_several_questions_is_of_one_moment",
    ),
    Mutant(
        "a log starts one event too early",
        "service/storage/sql.py",
        'EVENTS_AFTER = f"{_EVENTS} WHERE shard = ? AND seq > ? ORDER',
        'EVENTS_AFTER = f"{_EVENTS} WHERE shard = ? AND seq >= ? ORDER',
        CONTRACT,
    ),
    Mutant(
        "a revoked token is still good",
        "service/http/auth.py",
        "if found is None or not same or found.revoked_at is not None:",
        "if found is None or not same:",
        "tests/service/http/test_tokens.py::test_a_token_from_its_making_to_its_end",
    ),
    Mutant(
        "an expired token is still good",
        "service/http/auth.py",
        "if found.expires_at is not None and now >= found.expires_at:",
        "if found.expires_at is not None and now < 0.0:",
        "tests/service/http/test_tokens.py::test_a_token_expires",
    ),
    Mutant(
        "any scope will do",
        "service/http/rights.py",
        'if "admin" not in rights.scopes and rights.scopes.isdisjoint(rule.scopes):',
        "if not rights.scopes:",
        "tests/service/http/test_tokens.py::test_a_rule_admits_the_scopes_that_it_names_and_admin",
    ),
    Mutant(
        "a token of one model is for all",
        "service/http/rights.py",
        "not {rights.model}.issuperset(names)",
        "not names",
        "tests/service/http/test_tokens.py::test_a_rule_admits_the_scopes_that_it_names_and_admin",
    ),
    Mutant(
        "a token of one model may do what concerns the service as a whole",
        "service/http/rights.py",
        "(rule.models is ModelAccess.SERVICE or not {rights.model}.issuperset(names))",
        "not {rights.model}.issuperset(names)",
        f"{RIGHTS}::test_each_scope_covers_the_rows_that_name_it_and_no_other",
    ),
    Mutant(
        "no token is needed",
        "service/http/auth.py",
        '            raise NotAllowed("the request has no token", "send the header Authorization: Bearer TOKEN")',
        "            return EVERYTHING",
        f"{RIGHTS}::test_without_a_token_everything_is_401_but_what_is_public",
    ),
    Mutant(
        "the model in the path is not judged",
        "service/http/rights.py",
        "            judge(rule, rights, name)\n",
        "            judge(rule, rights)\n",
        f"{RIGHTS}::test_each_scope_covers_the_rows_that_name_it_and_no_other",
    ),
    Mutant(
        "names in bodies are not judged",
        "service/http/rights.py",
        "judge(self.rule, self.rights, *self.rule.body(body))",
        "judge(self.rule, self.rights)",
        f"{RIGHTS}::test_settings_that_name_another_model_are_refused_alike",
    ),
    Mutant(
        "a challenger's champion in settings is not judged",
        "service/engine/champions.py",
        "    found = (body.shadow_of, body.challenger_of)\n",
        "    found = (body.shadow_of,)\n",
        f"{RIGHTS}::test_settings_that_name_another_model_are_refused_alike",
    ),
    Mutant(
        "the settings of a log are not judged",
        "service/http/routes_models.py",
        "    grant.judge_names(brought.named)\n",
        "",
        f"{RIGHTS}::TestImportedLogs::test_are_refused_alike",
    ),
    Mutant(
        "only the first settings of a log are judged",
        "service/engine/lifecycle.py",
        "named = recording.named.union(named_models(first.blueprint.body))",
        "named = set(named_models(first.blueprint.body))",
        f"{RIGHTS}::TestImportedLogs::test_are_refused_alike",
    ),
    Mutant(
        "an imported log stands next to the model that it names",
        "service/engine/lifecycle.py",
        "model = self._models.add(name, _as_copied(blueprint), self._clock())",
        "model = self._models.add(name, blueprint, self._clock())",
        f"{RIGHTS}::TestImportedLogs::test_stand_alone_for_any_importer",
    ),
    Mutant(
        "a caller that may copy a model may give the copy any name",
        "service/http/rights.py",
        'f"POST {MODEL}:copy": _OPERATOR._replace(body=_target),',
        'f"POST {MODEL}:copy": _OPERATOR,',
        f"{RIGHTS}::test_no_copy_or_new_name_outside_of_the_token",
    ),
    Mutant(
        "a caller that may rename a model may give it any name",
        "service/http/rights.py",
        'f"POST {MODEL}:rename": _OPERATOR._replace(body=_target),',
        'f"POST {MODEL}:rename": _OPERATOR,',
        f"{RIGHTS}::test_no_copy_or_new_name_outside_of_the_token",
    ),
    Mutant(
        "a caller that may promote a model may change its champion",
        "service/http/rights.py",
        'f"POST {MODEL}:promote": _OPERATOR._replace(partners=_champion),',
        'f"POST {MODEL}:promote": _OPERATOR,',
        f"{RIGHTS}::test_a_partner_by_name_of_an_operator_gives_no_more_rights",
    ),
    Mutant(
        "a caller that may revive a challenger may send it its champion's traffic",
        "service/http/rights.py",
        'f"POST {MODEL}:revive": _OPERATOR._replace(partners=_champion),',
        'f"POST {MODEL}:revive": _OPERATOR,',
        f"{RIGHTS}::test_a_partner_by_name_of_an_operator_gives_no_more_rights",
    ),
    Mutant(
        "the figures of a comparison are shown to who may see one side",
        "service/http/routes_models.py",
        "    grant.judge_partners()\n",
        "",
        f"{RIGHTS}::test_a_partner_by_name_of_an_operator_gives_no_more_rights",
    ),
    Mutant(
        "the bulk call of flags evaluates all models",
        "service/integrations/ofrep.py",
        "for model in grant.visible(here.models()) if",
        "for model in here.models() if",
        f"{RIGHTS}::test_lists_figures_and_bulk_calls_hold_only_the_own_model",
    ),
    Mutant(
        "the figures for Prometheus have findings about all models",
        "service/http/routes_admin.py",
        "models = grant.visible(here.models())",
        "models = here.models()",
        f"{RIGHTS}::test_lists_figures_and_bulk_calls_hold_only_the_own_model",
    ),
    Mutant(
        "the list of models holds all of them",
        "service/http/routes_models.py",
        "seen = grant.visible(here.models())",
        "seen = here.models()",
        f"{RIGHTS}::test_lists_figures_and_bulk_calls_hold_only_the_own_model",
    ),
    Mutant(
        "an app creates models through the calls of Azure AI Personalizer",
        "service/integrations/personalizer.py",
        "operator = await admit(request, HOSTED_CREATION)",
        "operator = await admit(request, grant.rule)",
        f"{RIGHTS}::TestPersonalizer::test_only_an_admin_creates_one",
    ),
    Mutant(
        "foreign decisions are found",
        "service/engine/model.py",
        "return allowed in (None, self.name) or (self.leader is not None and self.leader.name == allowed)",
        "return True",
        f"{RIGHTS}::test_foreign_decisions_look_unknown",
    ),
    Mutant(
        "a reply to forgetting a key has the names of copies",
        "service/engine/lifecycle.py",
        "copies = erased if allowed is None else {}",
        "copies = erased",
        f"{RIGHTS}::test_forgetting_reaches_copies_and_does_not_tell_their_names",
    ),
    Mutant(
        "the fast path asks for no scope",
        "service/http/fast_path.py",
        "grant = Grant(here, _DECIDE, rights, header, name, request, trace)",
        "grant = Grant(here, _DECIDE, EVERYTHING, header, name, request, trace)",
        "tests/service/http/test_fast_path.py::TestTaking::test_it_asks_the_matrix",
    ),
    Mutant(
        "the fast path takes any host",
        "service/http/fast_path.py",
        "return verdict.refusal is None and (verdict.while_open is None or not self._has_no_tokens())",
        "return verdict.refusal is None",
        "tests/service/http/test_fast_path.py::TestTaking::test_what_is_usual_is_taken_and_nothing_else",
    ),
    Mutant(
        "the fast path takes requests of any origin",
        "service/http/fast_path.py",
        "return verdict.refusal is None and (verdict.while_open is None or not self._has_no_tokens())",
        "return verdict.while_open is None or not self._has_no_tokens()",
        "tests/service/http/test_fast_path.py::TestTaking::test_what_is_usual_is_taken_and_nothing_else",
    ),
    Mutant(
        "a page of another origin may write",
        "service/http/middleware.py",
        "return Verdict(refusal=_foreign(found))",
        "return ADMITTED",
        f"{FOREIGN}::TestRoutes::test_no_foreign_request_writes",
    ),
    Mutant(
        "a page of another origin may write where browsers send no Sec-Fetch-Site",
        "service/http/middleware.py",
        "return not all(self._is_own(origin, known) for origin in found.get(_ORIGIN, ()))",
        "return False",
        f"{FOREIGN}::TestRoutes::test_no_foreign_request_writes",
    ),
    Mutant(
        "pages of the same site may write",
        "service/http/middleware.py",
        'OWN_SITES = frozenset((b"same-origin", b"none"))',
        'OWN_SITES = frozenset((b"same-origin", b"same-site", b"none"))',
        f"{FOREIGN}::TestRoutes::test_no_foreign_request_writes",
    ),
    Mutant(
        "only POST is asked for its origin",
        "service/http/middleware.py",
        "if method not in READS and len(found) > 1",
        'if method == "POST" and len(found) > 1',
        f"{FOREIGN}::TestRoutes::test_no_foreign_request_writes",
    ),
    Mutant(
        "a name and a password in an address count as a token",
        "service/http/middleware.py",
        'return any(kind.lower() == b"bearer" and token.strip() for kind, _, token in parts)',
        "return any(token.strip() for kind, _, token in parts)",
        f"{FOREIGN}::TestRoutes::test_no_foreign_request_writes",
    ),
    Mutant(
        "a port of the origin does not count",
        "service/http/middleware.py",
        "return site.at(scheme) in own or found == self._public",
        "return site.host in {host for host, _ in own} or found == self._public",
        f"{FOREIGN}::TestRoutes::test_no_foreign_request_writes",
    ),
    Mutant(
        "anybody's X-Forwarded-Host is believed",
        "service/http/middleware.py",
        'return last if last and self._proxies and peer is not None and self._is_trusted(peer) else b""',
        "return last",
        f"{FOREIGN}::TestGate::test_a_forwarded_host_is_believed_of_a_trusted_proxy_only",
    ),
    Mutant(
        "what follows an address in Host is passed over",
        "service/http/middleware.py",
        'found = _HOST.fullmatch(header.decode("latin-1"))',
        'found = _HOST.match(header.decode("latin-1"))',
        f"{FOREIGN}::TestGate::test_a_host_is_read_strictly",
    ),
    Mutant(
        "two Host headers are one",
        "service/http/middleware.py",
        "if site is None or len(hosts) > 1:",
        "if site is None:",
        f"{FOREIGN}::TestGate::test_two_hosts_are_refused",
    ),
    Mutant(
        "another host is answered while there is no token",
        "service/http/middleware.py",
        "if verdict.while_open is not None and not await _any_token(here):",
        "if verdict.while_open is not None and await _any_token(here):",
        "tests/service/http/test_safety.py::TestHeaders::"
        "test_a_name_that_somebody_else_points_here_is_refused_while_there_is_no_token",
    ),
    Mutant(
        "asking for the status of Azure AI Personalizer creates its model",
        "service/integrations/personalizer.py",
        "await _model(request, required=False)",
        "await _model(request, create=True)",
        f"{FOREIGN}::TestRoutes::test_no_get_makes_the_first_model",
    ),
    Mutant(
        "a running request does not learn that its connection is gone",
        "service/http/protocol.py",
        "for cycle in (self._running, self.cycle, *(each for each, _ in self.pipeline)):",
        "for cycle in (self.cycle, *(each for each, _ in self.pipeline)):",
        f"{WIRE}::test_nobody_fills_the_log",
    ),
    Mutant(
        "probes are refused at the cap",
        "service/http/protocol.py",
        "            if len(waiting) >= PROBES:\n",
        "            if len(waiting) >= 0:\n",
        f"{WIRE}::TestProbes::test_are_answered_at_the_cap",
    ),
    Mutant(
        "the reserve is for everybody",
        "service/http/protocol.py",
        "if self._probing_since is not None and not self._is_probe(names):",
        "if self._probing_since is None and not self._is_probe(names) and self.cycle is False:",
        f"{WIRE}::TestProbes::test_nothing_else_is",
    ),
    Mutant(
        "connections that say nothing keep the reserve",
        "service/http/protocol.py",
        "silent = next((each for each in waiting if each._running is None), None)",
        "silent = None",
        "tests/service/http/test_protocol.py::test_the_oldest_of_the_reserve_that_asks_for_nothing_makes_room",
    ),
    Mutant(
        "answers of the fast path may be kept",
        "service/http/protocol.py",
        "        lines.append(_SAFE_LINES)\n",
        "",
        f"{WIRE}::test_answers_of_the_fast_path_and_of_the_wire_have_them",
    ),
    Mutant(
        "answers to failures may be kept",
        "service/http/app.py",
        "return Outermost(super().build_middleware_stack(), self._observer, paths)",
        "return super().build_middleware_stack()",
        f"{WIRE}::test_a_failure_of_our_own_has_them_too",
    ),
    Mutant(
        "strangers learn the version",
        "service/http/routes_admin.py",
        'if "authorization" in request.headers and _may_read(request) else {}',
        "if request is not None else {}",
        f"{WIRE}::test_probes_tell_strangers_nothing_but_that_it_runs",
    ),
    Mutant(
        "refusals name the database server",
        "service/errors.py",
        '        self.problem = "the database cannot be reached or returned an error"\n',
        "",
        f"{WIRE}::test_the_address_of_the_database_is_for_the_log",
    ),
    Mutant(
        "every question whether it is ready writes to the disk",
        "service/http/resources.py",
        "if self.writer.healthy and idle < WRITTEN_S and",
        "if self.writer.healthy and idle < 0.0 and",
        f"{WIRE}::test_readiness_is_proved_by_a_write_once_in_a_minute",
    ),
    Mutant(
        "nested records are walked as deep as they are",
        "service/errors.py",
        "        if depth > DEEP:\n",
        "        if depth > 100 * DEEP:\n",
        "tests/service/http/test_nesting.py::test_the_limit_is_exact_and_brackets_in_words_do_not_count",
    ),
    Mutant(
        "events of operators name nobody",
        "service/storage/transitions.py",
        "if self.author is not None and type in SIGNED:",
        "if self.author is None and type in SIGNED:",
        "tests/service/log/test_signed_events.py::test_each_event_of_an_operator_and_no_other",
    ),
]

"""The engine of the service: one thread that owns the journal, and a queue in front of it.

Requests come from any thread and wait in the queue. The thread takes all that wait, up to :data:`MOST_CALLS`, and runs
them as one :class:`~allworlds.service.batch.Batch`: one transaction, one sync of the disk, however many requests. While
the disk syncs, the next batch gathers. Answers are handed out when the transaction is durable, never before.

If the journal fails, all calls of the batch get :class:`~allworlds.service.journal.Unavailable`: it is unknown whether
they were done, and the same call with the same id is safe. The learners concerned are read again from the journal.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from allworlds.foundation.errors import AllWorldsError
from allworlds.service.batch import CHOOSING, ENDING, EXPIRE_AT_ONCE, Batch
from allworlds.service.calls import Call, Limits
from allworlds.service.fold import check_foldable, start
from allworlds.service.journal import DecisionRow, EventRow, Journal, KeyRow, Outrun, ServiceError, Unavailable
from allworlds.service.live import Live, Segment
from allworlds.service.rule import check_text
from allworlds.service.rule_body import canonical, rule_from_body

MOST_CALLS = 512
"""Calls in one transaction."""
LINGER = 0.0005
"""Seconds that a batch waits for as many calls as came last time."""
HOPEFUL = frozenset({*CHOOSING, *ENDING})
"""The verbs of batches that take for granted that no other process has written."""
LOG = logging.getLogger("allworlds.service")

Deliver = Callable[[list[Call]], object]


class Engine:
    """The verbs of the service on a journal; each returns a future.

    Parameters
    ----------
    journal:
        Where everything is kept; the engine's thread is the only one that writes to it. The caller closes it.
    max_open, max_segments, probabilities_up_to, snapshot_every:
        See :class:`~allworlds.service.calls.Limits`.
    expire_every:
        Seconds between two looks for decisions past their deadline.
    """

    def __init__(self, journal: Journal, *, expire_every: float = 1.0, **limits: int) -> None:
        self.journal, self.limits = journal, Limits(**limits)
        self.ready = threading.Event()
        """Set once all learners are in memory."""
        self._every = expire_every
        self._lives: dict[str, Live] = {}
        self._queue: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._usual = 0
        """The calls of the last batch, or a few more."""
        self._makers = ThreadPoolExecutor(1, thread_name_prefix="allworlds-create")
        self._stopped = False

    def start(self) -> Engine:
        """Start the thread; it reads the learners first, and ``ready`` is set when it has."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="allworlds-journal", daemon=True)
            self._thread.start()
        return self

    def hint(self, name: str) -> None:
        """Look at a learner soon, because another process may have changed it; from any thread."""
        self._queue.put(Call("view", name))

    def stop(self) -> None:
        """Answer what waits, save the states, and end the thread; later calls are refused."""
        self._stopped = True
        if self._thread is None:
            self._refuse_rest()
        self._makers.shutdown(wait=True)
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None
        self._refuse_rest()

    def _refuse_rest(self) -> None:
        """Answer calls that nobody will do any more."""
        with contextlib.suppress(queue.Empty):
            while True:
                call = self._queue.get_nowait()
                if call is not None and call.deliver is not None:
                    call.error = Unavailable("the service is stopping; try again with the same id")
                    call.deliver([call])

    def __enter__(self) -> Engine:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # --- calls ------------------------------------------------------------------------------------------

    def submit(self, calls: Iterable[Call], deliver: Deliver) -> None:
        """Ask for calls; after a batch ``deliver`` is called once, in the engine's thread, with those that are done."""
        for call in calls:
            call.deliver = deliver
            self._queue.put(call)
        if self._stopped and self._thread is None:
            self._refuse_rest()

    def _ask(self, verb: str, name: str = "", **arguments: Any) -> Future[Any]:
        """Ask for one call; its answer is the result of the future."""
        call = Call(verb, name, arguments)
        call.future = Future()
        self.submit([call], _resolve)
        return call.future  # type: ignore[no-any-return]

    def create(self, body: Mapping[str, Any]) -> Future[tuple[dict[str, Any], bool]]:
        """A learner from its creation request: its view, and whether it is new."""
        future: Future[tuple[dict[str, Any], bool]] = Future()
        try:
            self._makers.submit(self._prepare, dict(body), future)
        except RuntimeError:  # no work is taken any more
            future.set_exception(Unavailable("the service is stopping; try again"))
        return future

    def _prepare(self, body: dict[str, Any], future: Future[Any]) -> None:
        """Compute the cover and compile what the learner needs, beside the engine's thread; then ask.

        A cover may take longer than a client waits; when it asks again, the learner is there and nothing is computed.
        """
        try:
            text = canonical(body)
            known = self._ask("created", check_text("name", body.get("name")), body=text).result()
            if known is not None:
                future.set_result((known, False))
                return
            rule = rule_from_body(body)
            check_foldable(rule.learner)
            Segment(rule, start(rule.learner)).distribution()
            call = Call("create", body["name"], {"body": text, "rule": rule})
            call.future = future
            call.deliver = _resolve
            self._queue.put(call)
        except AllWorldsError as error:
            as_it_is = isinstance(error, ServiceError | Unavailable)
            future.set_exception(error if as_it_is else ServiceError(422, str(error)))
        except BaseException as error:
            LOG.exception("a learner could not be created")
            future.set_exception(ServiceError(500, f"the learner could not be created: {type(error).__name__}"))

    def view(self, name: str) -> Future[dict[str, Any]]:
        """A learner: its arms, cover and what feedback it expects."""
        return self._ask("view", name)

    def views(self) -> Future[list[dict[str, Any]]]:
        """All learners."""
        return self._ask("views")

    def state(self, name: str) -> Future[dict[str, Any]]:
        """Round and distribution, and a line for each segment."""
        return self._ask("state", name)

    def rules(self, name: str) -> Future[list[Any]]:
        """The :class:`~allworlds.service.rule.Rule` of every epoch."""
        return self._ask("rules", name)

    def snapshot(self, name: str) -> Future[bytes]:
        """What was learnt, as :func:`allworlds.service.fold.to_bytes` writes it; saved in the journal too."""
        return self._ask("snapshot", name)

    def archive(self, name: str) -> Future[dict[str, Any]]:
        """Make no new decisions; outcomes of open ones are still learnt."""
        return self._ask("archive", name)

    def add_arm(self, name: str, label: str, neighbours: Iterable[str] = ()) -> Future[dict[str, Any]]:
        """Add an arm that sees its neighbours and is seen by them."""
        return self._ask("add_arm", name, label=label, neighbours=list(neighbours))

    def retire_arm(self, name: str, label: str) -> Future[dict[str, Any]]:
        """Take an arm away."""
        return self._ask("retire_arm", name, label=label)

    def choose(
        self, name: str, id: str | None = None, available: list[str] | None = None, segment: str | None = None
    ) -> Future[dict[str, Any]]:
        """Decide; the same id again gives the same answer."""
        return self._ask("choose", name, id=id, available=available, segment=segment)

    def choose_many(self, name: str, decisions: list[dict[str, Any]]) -> Future[list[dict[str, Any]]]:
        """Decide many times at once; each item is an answer, or ``{"error", "status"}``."""
        return self._ask("choose_many", name, decisions=decisions)

    def decision(self, name: str, id: str) -> Future[dict[str, Any]]:
        """A decision and its status."""
        return self._ask("decision", name, id=id)

    def observe(self, name: str, id: str, losses: dict[str, float]) -> Future[dict[str, Any]]:
        """Learn the outcome of a decision; the same outcome again is the same."""
        return self._ask("observe", name, id=id, losses=losses)

    def void(self, name: str, id: str) -> Future[dict[str, Any]]:
        """Forget a decision that nobody saw."""
        return self._ask("void", name, id=id)

    def expire(self) -> Future[int]:
        """End the decisions that are past their deadline, now; how many there were."""
        return self._ask("expire")

    def ping(self) -> Future[float]:
        """The journal's time, if it answers."""
        return self._ask("ping")

    def keys(self) -> Future[list[KeyRow]]:
        """All keys."""
        return self._ask("keys")

    def add_key(self, row: KeyRow) -> Future[None]:
        """Add a key."""
        return self._ask("add_key", row=row)

    def revoke_key(self, id: str) -> Future[bool]:
        """Revoke a key; whether it was there and not revoked."""
        return self._ask("revoke_key", id=id)

    def stream(self, name: str) -> Iterator[tuple[DecisionRow, EventRow | None]]:
        """All decisions with the events that ended them; from any thread, on a connection of its own."""
        return self.journal.stream(name)

    # --- the engine's thread ----------------------------------------------------------------------------

    def _work(self) -> None:
        self._load()
        due, stop = time.monotonic() + self._every, False
        while not stop:
            calls, stop = self._gather(due)
            if calls:
                self._run(calls)
            if time.monotonic() >= due:
                self._load()
                expire = Call("expire", arguments={"once": True})
                self._run([expire, *([Call("recount")] if self.journal.shared else [])])
                more = expire.answer == EXPIRE_AT_ONCE  # then go on as soon as those who wait were answered
                due = time.monotonic() + (0.0 if more else self._every)
        self._run([Call("save")])

    def _gather(self, due: float) -> tuple[list[Call], bool]:
        """The calls of the next batch, if there are any before ``due``, and whether the engine is to stop.

        Clients that wait for their answers come back together. Where a batch costs more than its calls, it is worth
        waiting :data:`LINGER` seconds for as many as came last time, instead of leaving half of them to the next batch.
        """
        calls: list[Call] = []
        until = due
        with contextlib.suppress(queue.Empty):
            while len(calls) < MOST_CALLS:
                call = self._queue.get(timeout=max(0.0, until - time.monotonic()))
                if call is None:
                    return calls, True
                calls.append(call)
                if len(calls) == 1:
                    until = time.monotonic() + (LINGER if self.journal.waits else 0.0)
                if len(calls) >= self._usual:
                    until = 0.0
        self._usual = max(len(calls), self._usual - 1)
        return calls, False

    def _load(self) -> None:
        """Bring all learners into memory, unless they are; a journal that does not answer is asked again later."""
        if not self.ready.is_set():
            call = Call("load")
            self._run([call])
            if call.error is None:
                self.ready.set()

    def _run(self, calls: list[Call]) -> None:
        """Run calls as one batch and hand out their results."""
        expire = [call for call in calls if call.verb == "expire"]
        if 0 < len(expire) < len(calls):
            self._run([call for call in calls if call.verb != "expire"])
            calls = expire
        try:
            if expire:
                self._expire(expire)
            else:
                self._answer(calls)
        except Unavailable as error:
            LOG.warning("%s", error)
            for call in calls:
                call.answer, call.error = None, error
        except Exception as error:
            if len(calls) > 1:  # find the call that is to blame; the others are answered
                for call in calls:
                    call.answer = call.error = None
                    self._run([call])
                return
            LOG.exception("a call failed: %s", calls[0].verb)
            calls[0].error = ServiceError(500, f"the service made a mistake: {type(error).__name__}")
        by_receiver: dict[Deliver, list[Call]] = {}
        for call in calls:
            if call.deliver is not None:
                by_receiver.setdefault(call.deliver, []).append(call)
        for deliver, done in by_receiver.items():
            try:
                deliver(done)
            except Exception:  # a receiver that is gone must not stop the engine
                LOG.exception("answers could not be delivered")

    def _answer(self, calls: list[Call]) -> None:
        """Answer calls in one transaction; decisions and outcomes in the hope that no other process has written."""
        if all(call.verb in HOPEFUL for call in calls):
            try:
                Batch(self.journal, self._lives, self.limits).run(calls, optimistic=True)
                return
            except Outrun:
                for call in calls:
                    call.answer = call.error = None
        Batch(self.journal, self._lives, self.limits).run(calls)

    def _expire(self, calls: list[Call]) -> None:
        count, total = EXPIRE_AT_ONCE, 0
        while count == EXPIRE_AT_ONCE:
            count = Batch(self.journal, self._lives, self.limits).run([], expire=True)
            total += count
            if all(call.arguments.get("once") for call in calls):
                break
        for call in calls:
            call.answer = total


def _resolve(calls: list[Call]) -> None:
    """Give futures their results."""
    for call in calls:
        if not call.future.set_running_or_notify_cancel():
            continue  # nobody waits any more
        if call.error is None:
            call.future.set_result(call.answer)
        else:
            call.future.set_exception(call.error)

# pyright: standard
"""The hooks in torch: optimizer steps, waiting for data, autocast, gradient scaler.

Each calls the original exactly as it was called, whatever becomes of ours, and hands back what it gave. Inside a
function that torch.compile traces they vanish (``is_compiling`` is a constant to it).
"""

from __future__ import annotations

import atexit
import functools
import os
import sys
from threading import get_ident
from time import perf_counter, thread_time

from .folding import BATCH, BEGIN, DRAWN, EVALUATION, FIRST, OPENED, SCALED, STEP
from .record import FOLDER
from .watch import LOOK_FIRST, LOOK_MASK, Watch


def install(torch) -> Watch:
    """Look into this process' trainings from now on.

    Raises:
        AttributeError: this torch lacks what the hooks hold on to (before 2.0); nothing is changed then.
    """
    watch = Watch(torch, os.environ[FOLDER])
    compiling = _is_compiling(torch)
    optimizers = sys.modules["torch.optim.optimizer"]
    loaders = sys.modules["torch.utils.data.dataloader"]
    before, after = optimizers.register_optimizer_step_pre_hook, optimizers.register_optimizer_step_post_hook
    scaler = _scaler_class()
    if watch.card.possible:
        before(_before_step(watch, compiling))
    after(_after_step(watch, compiling))
    workers = sys.modules["torch.utils.data._utils.worker"]
    _wrap(loaders._BaseDataLoaderIter, "__next__", _next(watch, workers, torch.is_grad_enabled))
    _wrap(loaders.DataLoader, "__iter__", _iter(watch, workers))
    _wrap(torch.autocast, "__enter__", _autocast(watch))
    if scaler is not None:
        _wrap(scaler, "step", _scaler_step(watch))
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=watch.forked)
    atexit.register(_end, watch)
    _wrap(os, "_exit", _before(watch, Watch.end))  # the end of a child that multiprocessing forked
    for name in ("execv", "execve"):
        _wrap(os, name, _before(watch, Watch.leave))
    return watch


def _is_compiling(torch):
    compiler = getattr(torch, "compiler", None)
    return getattr(compiler, "is_compiling", None) or torch._dynamo.is_compiling


def _scaler_class():
    for name in ("torch.amp.grad_scaler", "torch.cuda.amp.grad_scaler"):
        found = getattr(sys.modules.get(name), "GradScaler", None)
        if found is not None:
            return found
    return None


def _wrap(owner, name: str, make) -> None:
    original = owner.__dict__[name]
    setattr(owner, name, functools.wraps(original)(make(original)))


def _before_step(watch: Watch, compiling):
    def gputuner_before_step(optimizer, args, kwargs):
        if compiling() or not watch.on:
            return
        try:
            watch.notes.append((BEGIN, perf_counter(), get_ident(), id(optimizer)))
            watch.card.before_step()
        except Exception as error:
            if not watch.fail(error):
                raise

    return gputuner_before_step


def _after_step(watch: Watch, compiling):
    cuda, number = watch.card.possible, watch.number

    def gputuner_after_step(optimizer, args, kwargs):
        if compiling() or not watch.on:
            return
        try:
            behind = watch.card.behind_after_step() if cuda else None
            now_s = perf_counter()
            watch.notes.append((STEP, now_s, get_ident(), id(optimizer), number(), behind))
            if now_s >= watch.due_s:
                watch.stepped(optimizer, now_s)
        except Exception as error:
            if not watch.fail(error):
                raise

    return gputuner_after_step


def _next(watch: Watch, workers, with_gradients):
    cuda = watch.card.possible

    def make(original):
        def __next__(self):
            if not watch.on or workers._worker_info is not None:
                return original(self)
            looked = busy = cpu_s = None
            try:
                watch.asked += 1
                looked = watch.asked & LOOK_MASK == 0 or watch.asked <= LOOK_FIRST
                busy = watch.card.busy() if cuda else None
                cpu_s = thread_time() if looked else None
            except Exception as error:
                if not watch.fail(error):
                    raise
            began_s = perf_counter()
            try:
                batch = original(self)
            except StopIteration:
                _ended(watch, began_s)
                raise
            try:
                now_s = perf_counter()
                if looked:
                    cpu_s = None if cpu_s is None else thread_time() - cpu_s
                    watch.look(self, batch)
                kind = EVALUATION if not with_gradients() else FIRST if self._num_yielded == 1 else BATCH
                hidden_s = watch.hidden(now_s - began_s) if busy else 0.0
                watch.notes.append((DRAWN, now_s, get_ident(), now_s - began_s, hidden_s, cpu_s, kind, watch.size))
                if now_s >= watch.late_s:
                    watch.flush(now_s)
            except Exception as error:
                if not watch.fail(error):
                    raise
            return batch

        return __next__

    return make


def _ended(watch: Watch, began_s: float) -> None:
    """An epoch has ended: what it took to find that out was waiting, too."""
    try:
        now_s = perf_counter()
        watch.notes.append((DRAWN, now_s, get_ident(), now_s - began_s, 0.0, None, OPENED, None))
    except Exception as error:
        if not watch.fail(error):
            raise


def _iter(watch: Watch, workers):
    def make(original):
        def __iter__(self):
            if not watch.on or workers._worker_info is not None:
                return original(self)
            began_s = perf_counter()
            iterator = original(self)
            try:
                now_s = perf_counter()
                watch.opened(self, iterator, now_s, now_s - began_s)
            except Exception as error:
                if not watch.fail(error):
                    raise
            return iterator

        return __iter__

    return make


def _autocast(watch: Watch):
    def make(original):
        def __enter__(self):
            result = original(self)
            if watch.on and watch.autocast is None:
                try:
                    inside = self.__dict__
                    if inside.get("_enabled"):
                        watch.autocast = str(inside.get("fast_dtype")).replace("torch.", "")
                except Exception as error:
                    if not watch.fail(error):
                        raise
            return result

        return __enter__

    return make


def _scaler_step(watch: Watch):
    """Its optimizer begins to step once the scaler has waited for the card, or not at all where it skips."""

    def make(original):
        def step(self, optimizer, *args, **kwargs):
            if not watch.on or not self.__dict__.get("_enabled"):
                return original(self, optimizer, *args, **kwargs)
            entered_s = perf_counter()
            result = original(self, optimizer, *args, **kwargs)
            try:
                watch.notes.append((SCALED, perf_counter(), get_ident(), entered_s))
            except Exception as error:
                if not watch.fail(error):
                    raise
            return result

        return step

    return make


def _before(watch: Watch, tell):
    """What ends a process, or makes it another program, without Python's own end; an exec may fail and go on."""

    def make(original):
        def ending(*args, **kwargs):
            try:
                tell(watch)
            except Exception as error:
                if not watch.fail(error):
                    raise
            return original(*args, **kwargs)

        return ending

    return make


def _end(watch: Watch) -> None:
    try:
        watch.end()
    except Exception as error:
        watch.fail(error)

"""Where and how estimators compute: backend, precision, seed, threads, progress."""

from __future__ import annotations

import json
import logging
import os
import re
import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from . import _firebox

logger = logging.getLogger("firebox")


class FireboxWarning(UserWarning):
    """A notice of a run, such as a column without effect or a number of clusters that depends on the seed."""


def options_of(owner: Any, **more: Any) -> str:
    """The JSON of the parameters of `owner`, if given, and of `more` options that are not None, by their names in Rust."""
    own = {} if owner is None else {name: getattr(owner, attribute) for name, attribute in owner._options.items()}
    options = own | more
    return json.dumps({name: value for name, value in options.items() if value is not None}, default=_plain)


def _plain(value: Any) -> Any:
    """A number or an array of NumPy as Python's own."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise ValueError(f"a parameter is a {type(value).__name__}, {value!r}, which is neither a number nor a text")


def whole(value: Any, name: str) -> int:
    """A whole number of at least 0; other values are a ValueError that names the parameter."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} = {value!r}: must be a whole number of at least 0")
    return int(value)


def number(value: Any, name: str) -> float:
    """A number; other values are a ValueError that names the parameter."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} = {value!r}: must be a number") from None


def in_python(owner: Any, text: str) -> str:
    """A message of Rust, in which parameters have the names of `owner`, and precisions those of NumPy."""
    text = re.sub(r"`precision = f(32|64)`", r"`precision = 'float\1'`", text)
    for name, own in (owner._options | getattr(owner, "_other_names", {})).items():
        text = re.sub(rf"`{name}`|^{name}(?= = | is missing)", lambda match: match[0].replace(name, own), text, flags=re.M)
    return text


def seed_of(random_state: Any) -> int:
    """The seed: an int is the seed of the command, anything else draws one as in scikit-learn."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state = {random_state}: must be at least 0")
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def threads_of(n_jobs: int | None) -> int | None:
    """The number of threads: None and -1 are all cores, -2 all but one, and so on."""
    if n_jobs is None or n_jobs == -1:
        return None
    if n_jobs == 0:
        raise ValueError("n_jobs = 0: must not be 0")
    return n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)


class Progress:
    """Progress of a run: a bar of tqdm if that is installed, else a line for each phase; a log entry for each phase."""

    def __init__(self, name: str, verbose: bool) -> None:
        self.name, self.verbose, self.phase, self.bar = name, verbose, None, None

    def __call__(self, phase: str, done: int, total: int) -> None:
        if phase != self.phase:
            logger.debug("%s: %s", self.name, phase)
            if self.verbose:
                self.start(phase, total)
            self.phase = phase
        if self.bar is not None:
            self.bar.update(done - self.bar.n)

    def start(self, phase: str, total: int) -> None:
        self.close()
        try:
            from tqdm.auto import tqdm
        except ImportError:
            print(f"{self.name}: {phase}", flush=True)
        else:
            self.bar = tqdm(total=total, desc=f"{self.name}: {phase}", leave=False)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None


class Run:
    """A run of an estimator with the parameters that all share, as a context manager around calls into Rust."""

    def __init__(self, owner: Any, random_state: Any = 0) -> None:
        self.owner = owner
        self.progress = Progress(type(owner).__name__, owner.verbose)
        # Progress costs a call per batch, so it is passed on only if something receives it.
        wanted = owner.verbose or logger.isEnabledFor(logging.DEBUG)
        self.run = _firebox.Run(
            backend=owner.backend,
            precision=owner.precision,
            seed=seed_of(random_state),
            memory_limit=owner.memory_limit,
            threads=threads_of(owner.n_jobs),
            progress=self.progress if wanted else None,
            notice=self.notice,
        )

    def notice(self, text: str) -> None:
        text = in_python(self.owner, text)
        logger.info("%s", text)
        warnings.warn(text, FireboxWarning, stacklevel=4)

    def __enter__(self) -> _firebox.Run:
        return self.run

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self.progress.close()
        if type(error) in (ValueError, MemoryError, RuntimeError) and error.args and isinstance(error.args[0], str):
            error.args = (in_python(self.owner, error.args[0]), *error.args[1:])


def column_names(estimator: Any) -> list[str] | None:
    """Names of the columns of the fit, if its input had any."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]

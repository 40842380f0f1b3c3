"""The ridge estimator that a filter's settings ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smidgen import checks
from smidgen.errors import InvalidArgument
from smidgen.learners.sizes import by_covariance
from smidgen.state.kernel_functions import KernelFunction, find_kernel
from smidgen.state.ridge import DiagonalRidge, ForgettingRidge, FullRidge, KernelRidge, Ridge
from smidgen.state.sparse_ridge import SparseRidge

LARGE = 1000  # features; beyond this the examples learnt from are usually fewer


def make_estimator(
    dim: int,
    a: float,
    covariance: str | None,
    kernel: str | KernelFunction | None,
    kernel_params: Mapping[str, Any] | None,
    forgetting: float,
    window: int | None,
    constant: bool = False,
) -> tuple[Ridge, dict[str, Any]]:
    """The estimator, and the settings that lead to it again; with a constant it holds one more feature."""
    start = checks.number("a", a, "give a number > 0, e.g. a=1.0", above=0.0)
    keep = checks.number("forgetting", forgetting, "give a number in (0, 1]; 1 forgets nothing", above=0.0, at_most=1.0)
    size = None if window is None else checks.whole("window", window, "leave it out to keep everything")
    if covariance is not None:
        checks.one_of("covariance", covariance, {"full": 0, "diagonal": 0, "dual": 0, "kernel": 0})
    if kernel is not None and not isinstance(kernel, str) and not callable(kernel):
        raise InvalidArgument(f"kernel is {kernel!r}", "give a name or a function k(X, Z) -> Gram matrix")
    kernel_params = checks.mapping("kernel_params", kernel_params, "give e.g. {'gamma': 0.5}")
    if kernel is not None and covariance not in (None, "kernel"):
        raise InvalidArgument(f"a kernel was given with covariance={covariance!r}", "leave covariance out")
    if kernel_params and kernel is None:
        raise InvalidArgument("kernel_params was given without a kernel", "say kernel='rbf'")
    form = covariance or _form(dim, kernel, keep, size)
    checks.one_of("covariance", form, {"full": 0, "diagonal": 0, "dual": 0, "kernel": 0})
    if keep < 1.0 and form != "full":
        raise InvalidArgument(f"forgetting={keep:g} was given with covariance={form!r}", "use 'full', or a window")
    if size is not None and form != "dual":
        raise InvalidArgument(f"a window was given with covariance={form!r}", "leave covariance out, or say 'dual'")
    params: dict[str, Any] = {"a": start, "covariance": form}
    if form == "kernel":
        params |= {"kernel": kernel or "rbf", "kernel_params": dict(kernel_params or {})}
        found = find_kernel(kernel or "rbf", kernel_params)
        return KernelRidge(dim, start, _raised(found) if constant else found), params
    features = dim + constant
    if form == "dual":
        params |= {"window": size} if size else {}
        return SparseRidge(features, start, size), params
    if form == "diagonal":
        return DiagonalRidge(features, start), params
    if keep < 1.0:
        return ForgettingRidge(features, start, keep), {**params, "forgetting": keep}
    return FullRidge(features, start), params


def _raised(kernel: KernelFunction) -> KernelFunction:
    """The kernel whose feature space has a constant beside: k + 1."""
    return lambda X, Z: kernel(X, Z) + 1.0


def ridge_size(settings: Mapping[str, Any]) -> int:
    """The bytes of a fresh estimator; the dual forms grow with what they hear."""
    if (form := settings.get("covariance")) is None:  # a learner that was made says which, and leaves out the rest
        form = _form(settings["dim"], settings["kernel"], settings["forgetting"], settings["window"])
    return by_covariance({**settings, "covariance": form})


def _form(dim: int, kernel: str | KernelFunction | None, forgetting: float, window: int | None) -> str:
    """The form of the covariance if nobody said which."""
    if kernel is not None:
        return "kernel"
    return "dual" if window or (dim > LARGE and forgetting == 1.0) else "full"

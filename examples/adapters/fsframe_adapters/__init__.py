"""What is on offer; imports none of the packages, so that listing needs none of them."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl

_OFFERS = (
    (
        "boruta-py",
        "boruta_py:BorutaPy",
        "Boruta of the package boruta",
        "Kursa, Rudnicki 2010",
        "boruta",
    ),
    (
        "skrebate-multisurf",
        "skrebate_multisurf:SkrebateMultisurf",
        "MultiSURF of scikit-rebate",
        "Urbanowicz et al. 2018",
        "skrebate",
    ),
    (
        "relieff-package",
        "relieff_package:RelieffPackage",
        "ReliefF of the package ReliefF",
        "Kononenko 1994",
        "ReliefF",
    ),
    (
        "fast-can",
        "fast_can:FastCan",
        "canonical correlation by forward search, of fastcan",
        "Zhang, Lang 2022",
        "fastcan",
    ),
    (
        "pandas-mrmr",
        "pandas_mrmr:PandasMrmr",
        "F over correlation, of mrmr_selection",
        "Ding, Peng 2005; Zhao et al. 2019",
        "mrmr-selection",
    ),
    (
        "hsic-lasso",
        "hsic_lasso:HsicLasso",
        "nonlinear lasso on kernels, of pyHSICLasso",
        "Yamada et al. 2014",
        "pyHSICLasso",
    ),
    (
        "mlxtend-forward",
        "mlxtend_forward:MlxtendForward",
        "forward search of mlxtend",
        "Whitney 1971",
        "mlxtend",
    ),
)


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    for name, target, summary, reference, needed in _OFFERS:
        yield SelectorEntry(
            name=name,
            target=f"fsframe_adapters.{target}",
            summary=summary,
            family="adapters",
            reference=reference,
            requires=needed,
        )

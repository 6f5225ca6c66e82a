"""Names of estimators: each method as its papers write it; nothing is imported."""

from __future__ import annotations

from fsframe.errors import RequestError
from fsframe.registry import Offer, Registry, classifiers, find_offer, selectors
from fsframe.suggest import did_you_mean

__all__ = ["class_name", "find_method_offer", "offered_names"]

_PROTOCOL = "protocol"

# Words of names as papers write them; other words get a capital.
_WRITTEN = """
BetaGamma BIM CIFE CMI CMIM CondRed DISR FCBF GFlip ICAP IM4E IRelief JMI JMI3 JMIM KNN LFE LOGO
MBIW MIFS MIM MRMR MultiSURF MultiSURFStar NJMIM NPFS ReliefF RFE RFECV RReliefF SURF SURFStar
SVM SWRFStar TuRF VLS
"""
_SPELLED = {word.lower(): word for word in _WRITTEN.split()}


def class_name(name: str) -> str:
    """The name of a method's estimator.

    Parameters
    ----------
    name : str
        The method's name, with or without its provider.

    Examples
    --------
    >>> [class_name(name) for name in ("mrmr", "relieff", "weighted-knn", "acme/my-jmi")]
    ['MRMR', 'ReliefF', 'WeightedKNN', 'MyJMI']
    """
    words = name.rpartition("/")[2].split("-")
    return "".join(_SPELLED.get(word, word.capitalize()) for word in words)


def offered_names() -> dict[str, str]:
    """From names of estimators to names of methods, for all that have a plain name.

    A method that others offer too, and is asked for as ``provider/name``, has none; where two
    methods would share a name of an estimator, the bundled one has it.

    Examples
    --------
    >>> offered_names()["MultiSURF"]
    'multisurf'
    """
    offers = [offer for registry in (selectors, classifiers) for offer in registry.offers()]
    found: dict[str, str] = {}
    for offer in sorted(offers, key=lambda offer: (not offer.plugin.source.bundled, offer.name)):
        if "/" not in offer.name and getattr(offer.entry, "family", "") != _PROTOCOL:
            found.setdefault(class_name(offer.name), offer.name)
    return dict(sorted(found.items()))


def find_method_offer(name: str) -> tuple[Registry, Offer]:
    """Who offers the method of that name, or of the estimator of that name.

    Raises
    ------
    RequestError
        If no plugin offers it, or it is a protocol and not a method.
    PluginError
        As `fsframe.registry.find_offer` says.
    """
    if not any(registry.matching(name) for registry in (selectors, classifiers)):
        names = offered_names()
        if name in names:
            name = names[name]
        elif hint := did_you_mean(name, list(names)):
            raise RequestError(f"there is no estimator {name!r}{hint}")
    registry, offer = find_offer(name, selectors, classifiers)
    if getattr(offer.entry, "family", "") == _PROTOCOL:
        raise RequestError(
            f"{name!r} measures a chain and is not an estimator; scikit-learn's cross_validate "
            "and cross_val_score measure estimators, and `fsframe.Chain` runs the protocol"
        )
    return registry, offer

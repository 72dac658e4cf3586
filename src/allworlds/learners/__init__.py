"""One algorithm a file, all of one shape."""

from allworlds.learners.aae_alphasample import AAEAlphaSample
from allworlds.learners.base import Learner
from allworlds.learners.exp3 import Exp3
from allworlds.learners.exp3_g import Exp3G
from allworlds.learners.exp3_ix import Exp3IX
from allworlds.learners.hedge import Hedge
from allworlds.learners.registry import LEARNERS, make_learner
from allworlds.learners.thompson_n import ThompsonN
from allworlds.learners.tsallis_inf import TsallisINF
from allworlds.learners.tsallis_shannon import TsallisShannon
from allworlds.learners.ucb_maxn import UCBMaxN
from allworlds.learners.ucb_n import UCBN
from allworlds.learners.uniform import Uniform

BY_NAME: dict[str, type[Learner]] = {
    kind.name: kind
    for kind in (
        TsallisShannon,
        Uniform,
        Hedge,
        Exp3,
        TsallisINF,
        Exp3IX,
        Exp3G,
        UCBN,
        UCBMaxN,
        ThompsonN,
        AAEAlphaSample,
    )
}
"""Learner classes under the name they are saved with."""

__all__ = [
    "BY_NAME",
    "LEARNERS",
    "UCBN",
    "AAEAlphaSample",
    "Exp3",
    "Exp3G",
    "Exp3IX",
    "Hedge",
    "Learner",
    "ThompsonN",
    "TsallisINF",
    "TsallisShannon",
    "UCBMaxN",
    "Uniform",
    "make_learner",
]

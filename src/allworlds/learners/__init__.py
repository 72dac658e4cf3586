"""One algorithm a file, all of one shape; ``by_name.py`` lists them."""

from allworlds.learners.aae_alphasample import AAEAlphaSample
from allworlds.learners.base import Learner
from allworlds.learners.exp3 import Exp3
from allworlds.learners.exp3_g import Exp3G
from allworlds.learners.exp3_ix import Exp3IX
from allworlds.learners.hedge import Hedge
from allworlds.learners.thompson_n import ThompsonN
from allworlds.learners.tsallis_inf import TsallisINF
from allworlds.learners.tsallis_shannon import TsallisShannon
from allworlds.learners.ucb import UCBN, UCBMaxN
from allworlds.learners.uniform import Uniform

__all__ = [
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
]

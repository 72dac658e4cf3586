"""One algorithm a file, all of one shape; a learner is registered by its line here (see ``by_name.py``)."""

from allworlds.learners.aae_alphasample import AAEAlphaSample as AAEAlphaSample
from allworlds.learners.base import Learner as Learner
from allworlds.learners.dann_blackbox import DannBlackbox as DannBlackbox
from allworlds.learners.elp import ELP as ELP
from allworlds.learners.exp3 import Exp3 as Exp3
from allworlds.learners.exp3_dom import Exp3DOM as Exp3DOM
from allworlds.learners.exp3_g import Exp3G as Exp3G
from allworlds.learners.exp3_ix import Exp3IX as Exp3IX
from allworlds.learners.exp3_wix import Exp3WIX as Exp3WIX
from allworlds.learners.hedge import Hedge as Hedge
from allworlds.learners.thompson_n import ThompsonN as ThompsonN
from allworlds.learners.tsallis_inf import TsallisINF as TsallisINF
from allworlds.learners.tsallis_shannon import TsallisShannon as TsallisShannon
from allworlds.learners.ucb import UCBN as UCBN
from allworlds.learners.ucb import UCBMaxN as UCBMaxN
from allworlds.learners.uniform import Uniform as Uniform

"""One algorithm a file, all of one shape; a learner is registered by its line here (see ``by_name.py``)."""

from allworlds.learners.aae_alphasample import AAEAlphaSample as AAEAlphaSample
from allworlds.learners.aae_independent import AAEIndependent as AAEIndependent
from allworlds.learners.base import Learner as Learner
from allworlds.learners.epsilon_greedy_lp import EpsilonGreedyLP as EpsilonGreedyLP
from allworlds.learners.exp3 import Exp3 as Exp3
from allworlds.learners.exp3_g import Exp3G as Exp3G
from allworlds.learners.exp3_ix import Exp3IX as Exp3IX
from allworlds.learners.hedge import Hedge as Hedge
from allworlds.learners.imed_n import IMEDN as IMEDN
from allworlds.learners.kl_ucb_n import KLUCBN as KLUCBN
from allworlds.learners.lu_nonstationary import LuNonstationary as LuNonstationary
from allworlds.learners.moss import MOSS as MOSS
from allworlds.learners.moss import MOSSN as MOSSN
from allworlds.learners.thompson_discounted import ThompsonDiscounted as ThompsonDiscounted
from allworlds.learners.thompson_n import ThompsonN as ThompsonN
from allworlds.learners.tsallis_inf import TsallisINF as TsallisINF
from allworlds.learners.tsallis_shannon import TsallisShannon as TsallisShannon
from allworlds.learners.ucb import UCBN as UCBN
from allworlds.learners.ucb import UCBMaxN as UCBMaxN
from allworlds.learners.ucb_lp import UCBLP as UCBLP
from allworlds.learners.ucb_ne import UCBNE as UCBNE
from allworlds.learners.ucb_v_n import UCBVN as UCBVN
from allworlds.learners.ucb_window import UCBDiscounted as UCBDiscounted
from allworlds.learners.ucb_window import UCBWindow as UCBWindow
from allworlds.learners.uniform import Uniform as Uniform

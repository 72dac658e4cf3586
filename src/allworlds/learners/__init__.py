"""One algorithm a file, all of one shape; a learner is registered by its line here (see ``by_name.py``)."""

from allworlds.learners.aae_alphasample import AAEAlphaSample as AAEAlphaSample
from allworlds.learners.barbar import Barbar as Barbar
from allworlds.learners.barbar_g import BarbarG as BarbarG
from allworlds.learners.base import Learner as Learner
from allworlds.learners.broad import Broad as Broad
from allworlds.learners.exp3 import Exp3 as Exp3
from allworlds.learners.exp3_g import Exp3G as Exp3G
from allworlds.learners.exp3_g_plus_plus import Exp3GPlusPlus as Exp3GPlusPlus
from allworlds.learners.exp3_ix import Exp3IX as Exp3IX
from allworlds.learners.exp3_plus_plus import Exp3PlusPlus as Exp3PlusPlus
from allworlds.learners.hedge import Hedge as Hedge
from allworlds.learners.kong_2022 import Kong2022 as Kong2022
from allworlds.learners.lykouris import Lykouris as Lykouris
from allworlds.learners.robust_ucb import RobustUCB as RobustUCB
from allworlds.learners.sao import SAO as SAO
from allworlds.learners.thompson_n import ThompsonN as ThompsonN
from allworlds.learners.tsallis_inf import TsallisINF as TsallisINF
from allworlds.learners.tsallis_shannon import TsallisShannon as TsallisShannon
from allworlds.learners.ucb import UCBN as UCBN
from allworlds.learners.ucb import UCBMaxN as UCBMaxN
from allworlds.learners.uniform import Uniform as Uniform

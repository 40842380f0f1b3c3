"""English words that say little about the subject of a text."""

from __future__ import annotations

#: Articles, pronouns, prepositions, conjunctions, auxiliary verbs, and the pieces that apostrophes leave behind.
_WORDS = """
    a an the this that these those such
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves one ones who whom whose which what whatever someone
    something anyone anything everyone everything nobody nothing none
    in on at by for from to of with without within into onto upon about above below under over between among through
    during before after since until till against toward towards across along around behind beside besides beyond near
    off out up down per via
    and or but nor so yet if then else than as because while although though unless whether
    am is are was were be been being do does did doing done have has had having will would shall should can could may
    might must ought cannot
    not no yes all any both each every either neither few more most other others another some several many much less
    least own same only very too also just even still already again once ever never always often quite rather almost
    here there where when why how now thus hence therefore however
    s t d ll m re ve don didn doesn isn aren wasn weren won wouldn couldn shouldn can hasn haven hadn
"""

ENGLISH = frozenset(_WORDS.split())

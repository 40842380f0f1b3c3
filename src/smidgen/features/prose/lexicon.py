"""Phrases that tell a style: greetings, farewells, hedges and the like, found by their hashes."""

from __future__ import annotations

from functools import cache

import numpy as np

from smidgen._core.prose import add_phrase
from smidgen.decision import IntArray
from smidgen.features.prose.characters import characters

#: Kinds of phrases; their order is that of `PHRASES`.
(
    GREETING,
    SIGN_OFF,
    OPENING,
    HEDGE,
    THANKS,
    APOLOGY,
    PLEASE,
    INTENSIFIER,
    FORMAL,
    INFORMAL,
    MYSELF,
    WE,
    YOU,
    OFFER,
    CONTRACTED,
) = range(15)
PHRASES: dict[int, str] = {
    GREETING: "hello, hi, hey, dear, hiya, greetings, good morning, good afternoon, good evening, good day, to whom it",
    SIGN_OFF: (
        "regards, best regards, kind regards, warm regards, sincerely, yours sincerely, yours faithfully, cheers, "
        "best wishes, all the best, respectfully, cordially, take care, many thanks, thanks again, yours truly"
    ),
    OPENING: (
        "thank you for, thank you so, thank you very, thanks for, thanks so much, thanks a lot, "
        "i hope this, i hope you, hope you are, hope this finds, great question, "
        "good question, happy to help, i am writing, i wanted to, just wanted to, just a quick, sure thing, certainly, "
        "of course, absolutely, as an ai, i appreciate your, we appreciate your, we have received, i have received, "
        "i understand, we understand, no problem, nice to hear, good to hear, lovely to hear, it was great"
    ),
    HEDGE: (
        "perhaps, maybe, possibly, probably, presumably, arguably, apparently, seemingly, somewhat, i think, i guess, "
        "i believe, i suppose, i feel, it seems, it appears, seems to, appears to, kind of, sort of, more or less, "
        "might be, could be, may be, in my opinion, to some extent, as far as, i would say, not sure, if possible"
    ),
    THANKS: "thanks, thank, grateful, appreciate, appreciated",
    APOLOGY: "sorry, apologies, apologise, apologize, apology, regret, pardon, forgive",
    PLEASE: "please, kindly, would you mind, could you please, if you could",
    INTENSIFIER: (
        "very, really, extremely, absolutely, totally, completely, truly, incredibly, highly, super, so much, "
        "definitely, certainly, literally, hugely, deeply, entirely, utterly"
    ),
    FORMAL: (
        "regarding, concerning, furthermore, moreover, therefore, however, consequently, hence, thus, accordingly, "
        "additionally, nevertheless, notwithstanding, pursuant, aforementioned, henceforth, herewith, hereby, "
        "in accordance, with respect, in regard, prior to, subsequent to, commence, terminate, utilise, utilize, "
        "endeavour, endeavor, facilitate, inquire, enquire, obtain, provide, require, request, assist, assistance, "
        "inform, attached, sincerely, respectfully, dear sir, dear madam, shall, upon, whilst, kindly, ensure"
    ),
    INFORMAL: (
        "hey, hiya, yeah, yep, yup, nope, ok, okay, cool, awesome, gonna, wanna, gotta, kinda, sorta, stuff, guys, "
        "folks, lol, btw, fyi, asap, thx, ty, pls, cheers, no worries, no problem, sure thing, a bit, loads, tons, "
        "super, gimme, dunno, oops, wow, hang on, heads up, get back, sort out, pop in, quick one"
    ),
    MYSELF: "i, me, my, mine, myself",
    WE: "we, us, our, ours, ourselves",
    YOU: "you, your, yours, yourself",
    OFFER: (
        "let me know, let us know, feel free, happy to help, glad to help, do not hesitate, don t hesitate, "
        "any questions, further questions, anything else, here to help, reach out, get in touch, happy to assist"
    ),
    CONTRACTED: "it s, that s, let s, what s, there s, here s, he s, she s, who s, how s, where s, i m, i d",
}


@cache
def table() -> IntArray:
    """All phrases by their hashes: keys in the first row, in the second a bit for every kind that they are of."""
    listed = [(phrase, kind) for kind, several in PHRASES.items() for phrase in several.split(", ")]
    size = 64
    while size < 4 * len(listed):
        size *= 2
    made = np.array([[-1], [0]]) * np.ones((2, size), np.int64)
    for phrase, kind in listed:
        add_phrase(made, characters(phrase), kind)
    return made

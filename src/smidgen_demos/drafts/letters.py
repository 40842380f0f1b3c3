"""Messages that a small shop for bicycles gets, and what there is to say: made from templates and variations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

PEOPLE = (
    ("Ann", "Larsen"),
    ("Ravi", "Menon"),
    ("Chloé", "Martin"),
    ("Tom", "Becker"),
    ("Ines", "Moreno"),
    ("Kofi", "Mensah"),
    ("Yuki", "Tanaka"),
    ("Olu", "Adeyemi"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
THINGS = ("the blue touring bike", "the cargo trailer", "my road bike", "the folding bike", "the child seat")


class Enquiry(NamedTuple):
    """A kind of message, with what can be answered: in a few words, in a sentence or two, at length, and as points.

    Every text may name ``{thing}``, ``{day}``, ``{other}`` (another day), ``{price}`` and ``{number}``.
    """

    subject: str
    asks: str
    short: str
    plain: str
    long: str
    points: tuple[str, ...]


CASES: tuple[Enquiry, ...] = (
    Enquiry(
        "When is it ready?",
        "Hello, I brought in {thing} last week and have not heard anything since. Do you know when I can pick it up? I "
        "need it before the weekend.",
        "It is ready on {day}.",
        "Your repair is ready on {day}, from ten o'clock.",
        "Your repair is ready on {day}, from ten o'clock. The part that we were waiting for came in this morning, and "
        "our mechanic will fit it and take it for a test ride before you come.",
        ("Ready: {day}, from 10:00", "The part came in this morning", "Price: {price} euros"),
    ),
    Enquiry(
        "Price for a service",
        "Hi there! What would a full service of {thing} cost, roughly, and how long would you need to keep it?",
        "It costs {price} euros and takes a day.",
        "A full service costs {price} euros. We need it for one day.",
        "A full service costs {price} euros, parts not included. We need it for one day; if you bring it on "
        "{day} in the "
        "morning, you can have it back the same evening.",
        ("Price: {price} euros, without parts", "Time: one day", "Next free day: {day}"),
    ),
    Enquiry(
        "Can we move my appointment?",
        "Something came up at work and I cannot make it on {day}. Would {other} be possible as well, at the same time?",
        "{other} works.",
        "{other} at the same time works. Your place is booked.",
        "{other} at the same time works, and your place is booked. We have taken {day} out of the diary, so there is "
        "nothing else that you need to do.",
        ("New: {other}, same time", "{day} is cancelled", "Nothing else to do"),
    ),
    Enquiry(
        "Wrong part delivered",
        "I ordered {number} inner tubes and got the wrong size. They do not fit {thing}. What happens now?",
        "The right ones ship on {day}.",
        "We sent the wrong size. The right ones ship on {day}, and you can keep the others.",
        "We picked the wrong size from the shelf. The right ones ship on {day} by express, without any cost "
        "to you, and "
        "you can keep the others or pass them on to a friend.",
        ("Right size ships: {day}", "Keep the wrong ones", "No cost for you"),
    ),
    Enquiry(
        "Refund?",
        "I returned {thing} more than a week ago (order {number}) and the money is still not on my account. Could you "
        "look into it?",
        "You get {price} euros by {day}.",
        "Your refund of {price} euros went out today. It is on your account by {day}.",
        "Your refund of {price} euros went out today and should be on your account by {day}. The parcel had been put "
        "aside in our warehouse without its form, and it took us a while to find out whose it was.",
        ("Refund: {price} euros", "Sent: today", "On your account: by {day}"),
    ),
    Enquiry(
        "Do you rent bikes?",
        "We will be in town with {number} people and would like to explore the valley. Do you rent bikes, "
        "and do we need "
        "to book ahead?",
        "Yes, {price} euros a day; book by {day}.",
        "Yes, we rent bikes for {price} euros a day. Please book by {day}.",
        "Yes, we rent bikes for {price} euros a day, with helmets and locks. There are {number} left for "
        "your dates, so "
        "book by {day} and we will keep them for you.",
        ("Price: {price} euros a day", "With helmets and locks", "Book by {day}"),
    ),
    Enquiry(
        "Strange noise",
        "Since the last service {thing} makes a clicking noise when I go uphill. Is that dangerous? Can I "
        "still ride it?",
        "Do not ride it; bring it on {day}.",
        "Please do not ride it until we have seen it. Bring it on {day}; it takes half an hour.",
        "That may be the bottom bracket, so please do not ride it until we have seen it. Bring it on {day}, any time "
        "before noon; we look at it while you wait, and it costs you nothing.",
        ("Do not ride it for now", "Bring it: {day}, before noon", "Cost: none"),
    ),
)


class Letter(NamedTuple):
    """A message, and what there is to say.

    Attributes
    ----------
    first, last
        Who wrote it.
    subject, text
        What stands in it.
    short, plain, long, points
        The answer, in four forms.
    """

    first: str
    last: str
    subject: str
    text: str
    short: str
    plain: str
    long: str
    points: tuple[str, ...]


def letter(number: int) -> Letter:
    """The message of this number: the same each time, and a new kind of question each time but for chance."""
    rng = np.random.default_rng([23, number])
    case = CASES[number % len(CASES)]
    first, last = PEOPLE[int(rng.integers(len(PEOPLE)))]
    day, other = rng.choice(DAYS, size=2, replace=False).tolist()
    filled = {
        "thing": str(rng.choice(THINGS)),
        "day": day,
        "other": other,
        "price": int(rng.integers(4, 24)) * 5,
        "number": int(rng.integers(2, 9)),
    }
    texts = (case.subject, case.asks, case.short, case.plain, case.long)
    subject, asks, short, plain, long = (text.format(**filled) for text in texts)
    return Letter(first, last, subject, asks, short, plain, long, tuple(each.format(**filled) for each in case.points))

"""Words that a full stop does not end a sentence after, and words that show that it did."""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\S+", text))


TITLES = _words(
    "mr mrs ms mx messrs dr prof st ste fr rev hon pres gov sen rep gen adm col maj capt cpt cmdr lt sgt cpl pvt supt "
    "insp ald amb sr. sra srta hr frl ing dipl mag mme mlle mgr vs v cf e.g i.e eg ie viz al z.b d.h u.a s.o bzw ca "
    "usf evtl ggf vgl bspw sog mind max inkl zzgl geb gest ft mt approx incl excl resp par art arts abs ziff "
    "ee ud uds dña sig sigg sig.ra dott dott.ssa avv dhr mevr bijv d.w.z p.ex exmo np tzn "
    "т.е т.к т.н г-н г-жа ул просп проф акад ср напр "
    "डॉ प्रो श्री कु पं डा ए बी सी डी ई एफ जी एच आई जे के एल एम एन ओ पी आर एस टी यू वी"
)
"""Followed by what they belong to: never the last word of a sentence. Lower case, inner stops kept.

The names of Latin letters in Devanagari stand for initials.
"""

BEFORE_NUMBERS = _words(
    "no nos nr nrn num fig figs eq eqs ex p pp vol vols ch chap sec secs para paras pt pts ed eds tab tel ext ver rev "
    "pop abb kap bd art § jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun bl fn n op lit "
    "pág págs pag pagg blz bijl rys рис табл гл стр ст пп № नं सं"
)
"""Abbreviations where a number follows, words of their own elsewhere."""

MIDDLE = _words(
    "inc ltd co corp bros llc plc gmbh ag jr sr esq dept univ assn est ave blvd rd hwy apt bldg fla calif mass pa tex "
    "conn penn wash ore ariz colo ill ind kan ky md mich minn miss mo neb nev okla tenn va vt wis wyo ala ark del ga "
    "etc usw a.m p.m am pm ph.d m.d b.a m.a b.sc m.sc u.s u.k u.n e.u d.c ms.c b.c a.d b.c.e ق.م"
)
"""May end a sentence: they do where the next word is one that sentences begin with."""

STARTERS = _words(
    "The A An In It Its He She They We You I This That These Those There Here His Her Their Our My Your But And Or So "
    "However If When While After Before Since Although Though Because As At On For From With Without By To Of During "
    "Under Over Between Among Also Then Thus Therefore Moreover Furthermore Meanwhile Later Today Yesterday Now What "
    "Who Why How Where Which Not No Yes Some Many Most All Both Each Every Another Other Such One Two Three Even Once "
    "Is Are Was Were Do Does Did Can Could Will Would Should May Might Please Let Despite According Until "
    "Der Die Das Ein Eine Er Sie Es Wir Ich Im Am Auf Bei Mit Nach Von Zu Aber Und Wenn Als Dies Diese Dieser Dieses "
    "Le La Les Un Une Il Elle Ils Elles Nous Vous En Dans El Los Las Ella Ellos Pero Lo Gli Nel Mais Y Se"
)
"""Words that begin sentences and hardly ever a name."""

GERMAN_MONTHS = _words(
    "Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember Jahrhundert Jh Klasse"
)
"""After these a number with a full stop before them is an ordinal."""

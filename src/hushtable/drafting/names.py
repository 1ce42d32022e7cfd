"""What the name of a column says about it: words by which people call such columns."""

from __future__ import annotations

import re

_ZIPS = "zip|zipcode|zcta|postcode|postalcode|postal|plz"
_PLACES = (
    f"{_ZIPS}|fips|geoid|tract|tractce|censustract|county|countyfp|countyfips|puma|cbsa|msa|nuts"
    "|insee|lsoa|msoa|block|blockgroup"
)
_WHERE = r"origin|orig|destination|dest|home|work|residence|from|to|o|d|place|location|region|area"
_PEOPLE = (
    r"person|user|rider|driver|patient|customer|client|member|account|subject|participant"
    r"|respondent|student|pupil|employee|worker|household|passenger|visitor|card|citizen|pid"
    r"|uid|hhid|userid|personid|patientid|customerid|custid|clientid|memberid|riderid|serialno"
)
_IDS = r"id|ids|uuid|guid|key|identifier|hash|ssn|email|phone"
_PERSONAL = r"surname|lastname|firstname|forename|fullname|address|street|phone|mobile|email"
_COUNTS = (
    r"count|counts|n|freq|frequency|weight|weights|flow|flows|commuters|people|persons|population"
    r"|pop|trips|cases|total|residents|inhabitants|households|passengers"
)
_CODES = (
    r"code|codes|cat|category|type|class|kind|group|sex|gender|race|ethnicity|marital|status|zone"
    r"|sector|industry|occupation|occ|naics|sic|isco|nace|icd|region|state|district|language"
)
_AMOUNTS = (
    r"amount|price|cost|fare|fee|tip|tax|toll|income|wage|wages|salary|earnings|revenue|gain|loss"
    r"|balance|payment|value|age|years|hours|minutes|seconds|duration|distance|miles|km|weight"
    r"|height|size|rooms|children|kids|persons|num|number|count|quantity|qty|score|percent|pct|rate"
    r"|year|month|day|week|population|density|dose|bmi"
)
_WORDS = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+")


def words_of(name: str) -> list[str]:
    """The words that a name is made of.

    >>> words_of("riderId"), words_of("PICKUP_ZONE-id")
    (['rider', 'id'], ['pickup', 'zone', 'id'])
    """
    return [word.lower() for word in _WORDS.findall(name)]


def _says(name: str, words: str) -> bool:
    return any(re.fullmatch(words, word) for word in words_of(name))


def is_place(name: str) -> bool:
    """Whether a name is that of a code of places, whatever its other words."""
    return _says(name, _PLACES)


def is_zip(name: str) -> bool:
    return _says(name, _ZIPS)


def is_where(name: str) -> bool:
    """Whether a name may be that of a place."""
    return is_place(name) or _says(name, _WHERE)


def is_person(name: str) -> bool:
    """Whether a name is that of an id of people: rider, or rider_id, but not rider_age."""
    *_, last = words_of(name) or [""]
    if re.fullmatch(_IDS, last):
        return _says(name, _PEOPLE) or last in ("ssn", "email", "phone") or len(words_of(name)) == 1
    return bool(re.fullmatch(_PEOPLE, last))


def is_personal(name: str) -> bool:
    """Whether a name is that of people's names or addresses."""
    words = words_of(name)
    called = "name" in words and bool({"first", "last", "full", "given", "family"} & set(words))
    return called or _says(name, _PERSONAL)


def is_id(name: str) -> bool:
    *_, last = words_of(name) or [""]
    return bool(re.fullmatch(_IDS, last)) or is_person(name)


def is_count(name: str) -> bool:
    """Whether a name may be that of how many people a row stands for."""
    return _says(name, _COUNTS)


def is_code(name: str) -> bool:
    return _says(name, _CODES)


def is_amount(name: str) -> bool:
    return _says(name, _AMOUNTS)


def is_age(name: str) -> bool:
    return _says(name, r"age|agep|ages")

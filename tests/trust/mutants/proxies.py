"""What may stand in for a private table: never the table itself."""

from __future__ import annotations

from .mutant import Mutant
from .suites import PROXY, SOURCES

_ITSELF = (f"{PROXY}::test_the_table_to_be_published_is_no_proxy",)
_KNOWN = (f"{PROXY}::test_a_file_that_was_published_from_is_no_proxy",)
_AGAIN = (f"{SOURCES}::test_a_file_that_was_spent_on_is_known_again",)
_NOTE = "    note_sources(schema.dataset_name, {*sources, *map(Source.of_table, read)})\n"
_NOTED = (f"{SOURCES}::test_publishing_and_curating_note_what_they_read",)

PROXIES = [
    Mutant(
        "files known by their place alone",
        "kernel/privacy/sources.py",
        "return numbers or self.path == other.path",
        "return self.path == other.path",
        _AGAIN,
    ),
    Mutant(
        "files known by their number alone",
        "kernel/privacy/sources.py",
        "return numbers or self.path == other.path",
        "return numbers",
        _AGAIN,
    ),
    Mutant(
        "links not resolved",
        "kernel/privacy/sources.py",
        "return cls(os.path.realpath(path), status.st_dev, status.st_ino)",
        "return cls(os.path.abspath(path), status.st_dev, os.lstat(path).st_ino)",
        _AGAIN,
    ),
    Mutant(
        "a list of sources that anyone may read",
        "kernel/privacy/sources.py",
        "os.open(file, flags, 0o600)",
        "os.open(file, flags, 0o644)",
        (f"{SOURCES}::test_the_list_is_the_owners_alone",),
    ),
    Mutant(
        "a damaged list of sources taken for an empty one",
        "kernel/privacy/sources.py",
        "    except FileNotFoundError:\n        return None\n",
        "    except (FileNotFoundError, ValueError, TypeError, KeyError):\n        return None\n",
        (f"{SOURCES}::test_a_list_that_cannot_be_read_is_no_licence",),
    ),
    Mutant(
        "sources of releases not noted",
        "publishing.py",
        f"    {_NOTE}        reservation",
        "        reservation",
        _NOTED,
    ),
    Mutant(
        "sources of curators not noted",
        "publishing.py",
        _NOTE + "    books.spend",
        "    books.spend",
        _NOTED,
    ),
    Mutant(
        "the private table as its own proxy",
        "publishing.py",
        'declared |= {"private": data, ',
        "declared |= {",
        _ITSELF,
    ),
    Mutant(
        "one file of the proxy looked at",
        "evaluation/stand_in.py",
        "any(a.is_same(b) for a in files for b in secret)",
        "any(a.is_same(b) for a in files[:1] for b in secret)",
        _ITSELF,
    ),
    Mutant(
        "one file of the private table looked at",
        "evaluation/stand_in.py",
        "any(a.is_same(b) for a in files for b in secret)",
        "any(a.is_same(b) for a in files for b in secret[:1])",
        _ITSELF,
    ),
    Mutant(
        "files that were published from not looked up",
        "evaluation/stand_in.py",
        "dataset = dataset_from(file)",
        "dataset = None",
        _KNOWN,
    ),
    Mutant(
        "a table in memory as its own proxy",
        "evaluation/stand_in.py",
        "return proxy is private or",
        "return",
        (f"{PROXY}::test_a_table_in_memory_is_not_its_own_proxy",),
    ),
    Mutant(
        "tables that nobody called public",
        "evaluation/stand_in.py",
        "    if not public:\n",
        "    if False:\n",
        (f"{PROXY}::test_a_table_needs_the_owners_word",),
    ),
    Mutant(
        "releases without privacy taken for public",
        "evaluation/stand_in.py",
        "if not release.private and not public:",
        "if False:",
        (f"{PROXY}::test_a_release_needs_no_word_but_one_without_privacy_does",),
    ),
    Mutant(
        "noise published because it won",
        "evaluation/proxy.py",
        "return None if best is None or self.plan.is_noise(best) else best",
        "return best",
        (f"{PROXY}::test_what_would_be_mostly_noise_is_not_recommended",),
    ),
    Mutant(
        "any summary that wins",
        "evaluation/proxy.py",
        'return FAMILIES[MECHANISMS[trial.mechanism]].forecasts != "declared"',
        "return True",
        (f"{PROXY}::test_summaries_are_chosen_only_where_the_plan_may_choose_them",),
    ),
    Mutant(
        "what made the rows not told",
        "evaluation/proxy.py",
        "if (made := self.stand_in.favours) is not None:",
        "if (made := self.stand_in.favours) is None:",
        (f"{PROXY}::test_what_made_the_rows_is_said_to_be_favoured",),
    ),
    Mutant(
        "the place of the proxy in the manifest",
        "evaluation/stand_in.py",
        "name = plain(Path(str(paths[0])).name)",
        "name = plain(str(paths[0]))",
        (f"{PROXY}::test_auto_publishes_the_winner_and_the_manifest_says_on_what",),
    ),
]

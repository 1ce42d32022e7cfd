"""Files in stores, on the web and in lakes: counted once, in one state, without telling secrets."""

from __future__ import annotations

from .mutant import Mutant
from .suites import ELSEWHERE, LAKES, POLARS

_ELSEWHERE = "kernel/counting/readers/elsewhere"
_LAKES = "kernel/counting/readers/lakes"

PLACES = [
    Mutant(
        "a store believed to heed conditions",
        f"{_ELSEWHERE}/stores.py",
        'if (found.meta["e_tag"], found.meta["size"]) != (mark, meta["size"]):',
        "if False:",
        (f"{ELSEWHERE}::test_a_store_that_heeds_no_conditions_is_watched",),
    ),
    Mutant(
        "a web server believed to heed conditions",
        f"{_ELSEWHERE}/web.py",
        "if _State.of(answer.headers, -1 if size is None else size) != state:",
        "if False:",
        (f"{ELSEWHERE}::test_a_server_that_heeds_no_conditions_is_watched",),
    ),
    Mutant(
        "a date of this second taken for the mark of a state",
        f"{_ELSEWHERE}/web.py",
        "return now - told >= _OLD",
        "return True",
        (f"{ELSEWHERE}::test_a_server_that_tells_no_state_is_refused",),
    ),
    Mutant(
        "an object counted by every name of it",
        "kernel/counting/readers/paths.py",
        "named.setdefault(file.name, file)",
        "named.setdefault(str(len(named)), file)",
        (f"{ELSEWHERE}::test_an_object_that_is_reached_twice_counts_once",),
    ),
    Mutant(
        "a web file counted by every name that leads to it",
        f"{_ELSEWHERE}/finding.py",
        "found.setdefault(place.identity, (place.query, file))",
        "found.setdefault(address.identity, (place.query, file))",
        (f"{ELSEWHERE}::test_a_server_that_leads_elsewhere_on_itself_is_followed",),
    ),
    Mutant(
        "two signatures of one file taken for two files",
        f"{_ELSEWHERE}/addresses.py",
        "return self.scheme, self.store, key",
        "return self.scheme, self.store, key, self.query",
        (f"{ELSEWHERE}::test_what_an_address_is_signed_with_never_makes_it_another_file",),
    ),
    Mutant(
        "files of two stores counted together",
        f"{_ELSEWHERE}/finding.py",
        "if len({(address.scheme, address.store) for address in addresses}) > 1:",
        "if False:",
        (f"{ELSEWHERE}::test_files_of_two_stores_are_not_read_together",),
    ),
    Mutant(
        "a server followed wherever it leads",
        f"{_ELSEWHERE}/web.py",
        "if after.store != before.store or",
        "if False and",
        (f"{ELSEWHERE}::test_a_server_that_leads_to_another_is_not_followed",),
    ),
    Mutant(
        "a signature shown",
        f"{_ELSEWHERE}/addresses.py",
        'return f"{self.scheme}://{self.store}/{self.key}"',
        'return f"{self.scheme}://{self.store}/{self.key}?{self.query}"',
        (f"{ELSEWHERE}::test_signatures_and_keys_are_kept_nowhere",),
    ),
    Mutant(
        "stores asked without credentials",
        f"{_ELSEWHERE}/stores.py",
        "    if not all(lacking.values()):\n",
        "    if True:\n",
        (f"{ELSEWHERE}::test_nobody_is_asked_without_credentials",),
    ),
    Mutant(
        "credentials believed that lack a part",
        f"{_ELSEWHERE}/stores.py",
        "if not all(lacking.values()):",
        "if any(len(names) < len(way) for way, names in lacking.items()):",
        (f"{ELSEWHERE}::test_credentials_that_lack_a_part_are_refused",),
    ),
    Mutant(
        "a machine of a cloud asked for a region",
        f"{_LAKES}/delta.py",
        "with silent_engine(problem), _no_machine_asked():",
        "with silent_engine(problem):",
        (f"{LAKES}::test_no_machine_of_a_cloud_is_asked_for_a_region",),
    ),
    Mutant(
        "a host that cannot be told in the words of a library",
        f"{_ELSEWHERE}/web.py",
        "(OSError, HTTPException, ssl.SSLError, ValueError)",
        "(OSError, HTTPException, ssl.SSLError)",
        (f"{ELSEWHERE}::test_hosts_that_cannot_be_are_refused_in_one_line",),
    ),
    Mutant(
        "a vector given to every file whose name ends so",
        f"{_LAKES}/delta.py",
        "kept = deleted.pop(plain, None)",
        "kept = next((deleted.pop(name) for name in [*deleted] if name.endswith(plain)), None)",
        (f"{LAKES}::test_a_vector_belongs_to_one_file_whose_name_may_end_like_another",),
    ),
    Mutant(
        "a file of two names counted twice",
        f"{_LAKES}/delta.py",
        "if len({str(file.file) for file in files}) < len(files):",
        "if False:",
        (f"{LAKES}::test_a_file_of_two_names_is_not_counted_twice",),
    ),
    Mutant(
        "a table of a catalog read by the program that it names",
        f"{_LAKES}/iceberg.py",
        "    catalog._load_file_io = lambda properties=None, location=None: ReadingFiles()\n",
        "",
        (f"{LAKES}::test_a_table_cannot_choose_the_program_that_reads_it",),
    ),
    Mutant(
        "files of a table looked for in any store that it names",
        f"{_LAKES}/iceberg.py",
        "table.io = ReadingFiles.beside(table.metadata_location)",
        "table.io = ReadingFiles()",
        (f"{LAKES}::test_hosts_and_keys_that_a_table_names_have_no_effect",),
    ),
    Mutant(
        "an answer that breaks off taken for a whole one",
        f"{_ELSEWHERE}/remote.py",
        "if len(found) != stop - start:",
        "if False:",
        (f"{ELSEWHERE}::test_a_part_that_is_too_short_is_not_counted",),
    ),
    Mutant(
        "rows that a vector deleted counted",
        f"{_LAKES}/reading.py",
        "if file.kept is not None:",
        "if False:",
        (f"{LAKES}::test_rows_that_a_vector_deleted_do_not_count",),
    ),
    Mutant(
        "deleted rows looked for in the wrong group",
        f"{_LAKES}/reading.py",
        "        first += len(batch)\n",
        "",
        (f"{LAKES}::test_rows_that_a_vector_deleted_do_not_count",),
    ),
    Mutant(
        "deleted rows of an Iceberg table counted",
        f"{_LAKES}/iceberg.py",
        "if task.delete_files:",
        "if False:",
        (f"{LAKES}::test_rows_that_are_deleted_in_another_file_are_not_counted_by_mistake",),
    ),
    Mutant(
        "columns of a lake found by names that others had",
        f"{_LAKES}/reading.py",
        "if column.number is None:",
        "if True:",
        (f"{LAKES}::test_columns_are_known_by_their_numbers",),
    ),
    Mutant(
        "Polars believed to tell when a frame fails",
        "kernel/counting/source.py",
        "_POLARS = (1, 37)",
        "_POLARS = (1, 0)",
        (f"{POLARS}::test_versions_that_lose_failures_are_refused",),
    ),
]

"""What cannot be answered is refused in one plain line that says what to do instead."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from query_schemas import CENSUS

from hushtable.errors import QueryError
from hushtable.query.sql import parse_query, parse_where


def refusal(read, text) -> str:
    with pytest.raises(QueryError) as caught:
        read(text, CENSUS)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert "\x1b" not in message
    assert "sqlglot" not in message
    assert len(message) < 400
    return message


CONDITIONS = {
    # integers
    "age = 5": "age: 5 is outside the integers -1 to 4",
    "age IN (1, 99)": "age: 99 is outside the integers -1 to 4",
    "age <> 1.5": "age: 1.5 is not one of the integers -1 to 4",
    "age = 1e999999": "age: 1e999999 is outside the integers -1 to 4",
    "age < '3'": "age < needs a number, not the text '3'",
    "age = 'yuong'": "age has no value 'yuong'; did you mean 'young'?",
    "age = 'x'": "age has no value 'x'; its values are -1 to 4",
    "age = -'x'": "-'x' is not a number",
    # bins
    "income < 15": "income: 15 lies inside the bin [10, 20.5); use 10 or 20.5",
    "15 <= income": "income: 15 lies inside the bin [10, 20.5); use 10 or 20.5",
    "income >= 30": "income: 30 lies inside the bin [20.5, 40]; use income >= 20.5 or income > 40",
    "income <= 10": "income <= 10 cuts the bin [10, 20.5); use income < 10 or income < 20.5",
    "income > 0": "income > 0 cuts the bin [0, 10); use income >= 0 or income >= 10",
    "income <= 15": "income: 15 lies inside the bin [10, 20.5); use income < 10 or income < 20.5",
    "income < 40": "income < 40 cuts the bin [20.5, 40]; use income < 20.5 or income <= 40",
    "income >= 40": "income >= 40 cuts the bin [20.5, 40]; use income >= 20.5 or income > 40",
    "income BETWEEN 0 AND 10": "income BETWEEN 0 AND 10 cuts the bin [10, 20.5); "
    "use income >= 0 AND income < 10, or income >= 0 AND income < 20.5",
    "income BETWEEN 5 AND 40": "income: 5 lies inside the bin [0, 10); use 0 or 10",
    "income = 15": "income is in bins: 15 lies in [10, 20.5), between the edges 10 and 20.5; "
    "use income = '[10, 20.5)'",
    "income IN (99)": "income: 99 lies outside the edges 0 to 40",
    "income = '[10, 20)'": "income has no value '[10, 20)'; "
    "did you mean '[10, 20.5)' or '[0, 10)'?",
    # labels and nodes
    "grade = 'Mid'": "grade has no value 'Mid'; did you mean 'mid'?",
    "grade > 'zzz'": "grade has no value 'zzz'; it has 'low', 'mid', 'high'",
    "grade = 3": "grade has no value 3; it has 'low', 'mid', 'high'",
    "\"marital-status\" = 'maried'": "marital-status has no value 'maried'; "
    "did you mean 'married'?",
    "\"marital-status\" < 'single'": "marital-status is nominal, its values have no order for <; "
    "use = or IN",
    "\"marital-status\" BETWEEN 'a' AND 'b'": "marital-status is nominal, "
    "its values have no order for >=; use = or IN",
    # names
    "agee = 1": "there is no attribute 'agee'; did you mean age?",
    "zzz = 1": "there is no attribute 'zzz'; there are age, income, grade, \"marital-status\"",
    "marital-status = 'single'": 'write "marital-status" in double quotes: it is not a plain word',
    "other.age = 1": "there is no table 'other' in this query",
    "a.b.age = 1": "'a' is not supported here; name an attribute",
    'age = "young"': "compare age with a value, and write texts in '…': age = 'young'",
    # forms
    "age = income": "compare age with a value, and write texts in '…': age = 'income'",
    "age = TRUE": "'TRUE' is not a value age can be compared with",
    "age = 1 + 1": "'1 + 1' is not a value age can be compared with",
    "age IS TRUE": "'age IS TRUE' is not supported; IS goes with NULL or NOT NULL only",
    "age IN (SELECT 1)": "'(SELECT 1)' is not supported here; IN takes a list of values",
    "age = 1 GROUP BY age": "'GROUP BY age' is not supported here; "
    "a condition holds nothing after it",
    "age = 1; age = 2": "one SELECT statement at a time, please",
    "age = 1 AND (": "the SQL cannot be read near '('",
    "age = = 1": "the SQL cannot be read near '='",
    "age = 'x": "the SQL cannot be read; is a quotation mark or comment left open?",
    "(" * 31 + "age = 1" + ")" * 31: "the SQL is nested deeper than 30 parentheses",
    "NOT " * 5000 + "age = 1": "the SQL is nested too deeply",
}
FORMS = {
    "age LIKE '1%'": "\"age LIKE '1%'\" is not supported in WHERE",
    "EXISTS (SELECT 1)": "'EXISTS(SELECT 1)' is not supported in WHERE",
    "LEVEL(age, 1) = 'young'": "'LEVEL(age, 1)' stands where an attribute should",
    "age + 1 = 2": "'age + 1' stands where an attribute should",
    "1 = 1": "'1' stands where an attribute should",
    "age": "'age' is not supported in WHERE",
    "age IS NOT DISTINCT FROM 1": "'age IS NOT DISTINCT FROM 1' is not supported in WHERE",
}
QUERIES = {
    "SELECT COUNT(*)": "there is no FROM; write FROM census",
    "SELECT COUNT(*) FROM people": "there is no table 'people'; this release holds census",
    "SELECT COUNT(*) FROM (SELECT 1) x": "FROM '(SELECT 1) AS x' is not supported; "
    "write FROM census",
    "SELECT COUNT(*) FROM a.census": "'a' is not supported here; write FROM census",
    "SELECT age, COUNT(*) FROM census": "age is not grouped; add GROUP BY age",
    "SELECT LEVEL(age, 1), COUNT(*) FROM census GROUP BY age": "LEVEL(age, 1) is not grouped; "
    "add GROUP BY LEVEL(age, 1)",
    "SELECT COUNT(*) FROM census GROUP BY LEVEL(grade, 1)": "grade has no hierarchy, "
    "so LEVEL does not apply to it",
    "SELECT COUNT(*) FROM census GROUP BY LEVEL(age, 3)": "LEVEL(age, k) takes a whole k from "
    "0 (the root) to 2, the height of the hierarchy, not '3'",
    "SELECT COUNT(*) FROM census GROUP BY LEVEL(age, -1)": "LEVEL(age, k) takes a whole k from "
    "0 (the root) to 2, the height of the hierarchy, not '-1'",
    "SELECT COUNT(*) FROM census GROUP BY LEVEL(age)": "LEVEL takes an attribute and a depth, "
    "as in LEVEL(occupation, 1)",
    "SELECT COUNT(*) FROM census GROUP BY age, AGE": "age stands twice in GROUP BY",
    "SELECT COUNT(*) FROM census GROUP BY age, LEVEL(age, 1)": "LEVEL(age, 1) stands twice "
    "in GROUP BY",
    "SELECT COUNT(*) FROM census GROUP BY 1": "GROUP BY takes attributes and LEVEL(attribute, k), "
    "not COUNT(*)",
    "SELECT COUNT(*) FROM census GROUP BY 2": "GROUP BY '2': positions go from 1 to 1, "
    "the columns of the SELECT list",
    "SELECT COUNT(*) FROM census GROUP BY ALL": "ALL is not supported here; "
    "GROUP BY takes attributes and LEVEL(attribute, k)",
    "SELECT COUNT(*) FROM census ORDER BY age": "ORDER BY age: "
    "it is not among the GROUP BY columns",
    "SELECT age, age, COUNT(*) FROM census GROUP BY 1": "the SELECT list shows a column twice",
    "SELECT age x, grade x, COUNT(*) FROM census GROUP BY 1, 2": "two columns are called 'x'; "
    "use AS to tell them apart",
    "SELECT age, COUNT(*) AS age FROM census GROUP BY grade, census.age": "two columns are called "
    "'age'; use AS to tell them apart",
    "SELECT COUNT(*) FROM census LIMIT -1": "LIMIT takes a whole number from 0, not '-1'",
    "SELECT COUNT(*) FROM census LIMIT 1.5": "LIMIT takes a whole number from 0, not '1.5'",
    "SELECT COUNT(*) FROM census LIMIT 1 OFFSET age": "OFFSET takes a whole number from 0, "
    "not 'age'",
    "SELECT COUNT(*) FROM census FETCH FIRST 5 ROWS ONLY": "'FETCH FIRST 5 ROWS ONLY' "
    "is not supported; use LIMIT and OFFSET",
    "SELECT COUNT(*) FROM census; SELECT 2": "one SELECT statement at a time, please",
}
STATEMENTS = {
    "": "the query is empty",
    "-- nothing": "the query is empty",
    "DROP TABLE census": "a query begins with SELECT, not 'DROP'",
    "WITH a AS (SELECT 1) SELECT COUNT(*) FROM a": "a query begins with SELECT, not 'WITH'",
    "SELECT * FROM census": "'*' is not supported",
    "SELECT SUM(age) FROM census": "'SUM(age)' is not supported",
    "SELECT COUNT(age) FROM census": "'COUNT(age)' is not supported",
    "SELECT COUNT(1) FROM census": "'COUNT(1)' is not supported",
    "SELECT COUNT(DISTINCT age) FROM census": "'COUNT(DISTINCT age)' is not supported",
    "SELECT COUNT(*) OVER () FROM census": "'COUNT(*) OVER ()' is not supported",
    "SELECT COUNT(*), COUNT(*) FROM census": "the SELECT list needs COUNT(*), once",
    "SELECT age FROM census GROUP BY age": "the SELECT list needs COUNT(*), once",
    "SELECT DISTINCT COUNT(*) FROM census": "'DISTINCT' is not supported here",
    "SELECT COUNT(*) FROM census JOIN b ON a = b": "'JOIN b ON a = b' is not supported here",
    "SELECT COUNT(*) FROM census, b": ", b' is not supported here",
    "SELECT COUNT(*) FROM census HAVING COUNT(*) > 3": "'HAVING COUNT(*) > 3' is not supported",
    "SELECT COUNT(*) FROM census TABLESAMPLE (10)": "'TABLESAMPLE (10",
    "SELECT COUNT(*) FROM census GROUP BY ROLLUP (age)": "'ROLLUP (age)' is not supported",
    "SELECT COUNT(*) FROM census GROUP BY age WITH TOTALS": "TOTALS is not supported here",
    "SELECT COUNT(*) FROM census UNION SELECT 1": "is not supported; supported: SELECT attributes",
    "SELECT COUNT(*) FROM census ORDER BY age + 1": "'age + 1' is not supported",
    "SELECT COUNT(*) FROM census FOR UPDATE": "is not supported here",
}


@pytest.mark.parametrize("text", CONDITIONS, ids=lambda text: text[:40])
def test_a_condition_is_refused_with_this_line(text):
    assert refusal(parse_where, text) == CONDITIONS[text]


@pytest.mark.parametrize("text", FORMS)
def test_an_unsupported_form_is_named_with_what_is_supported(text):
    message = refusal(parse_where, text)
    assert message.startswith(FORMS[text])
    assert message.endswith(
        "a condition joins =, <>, <, <=, >, >=, BETWEEN, IN and IS NULL "
        "between an attribute and values by AND, OR and NOT"
    )


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_is_refused_with_this_line(text):
    assert refusal(parse_query, text) == QUERIES[text]


@pytest.mark.parametrize("text", STATEMENTS)
def test_an_unsupported_statement_is_named_with_what_is_supported(text, caplog, capfd):
    message = refusal(parse_query, text)
    assert STATEMENTS[text] in message
    assert re.search(r"supported: SELECT|columns are|GROUP BY takes|write FROM", message)
    assert not caplog.records
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("wrong", [5, b"age = 1", ["age = 1"]])
def test_only_text_is_a_query(wrong):
    assert "text" in refusal(parse_where, wrong)
    assert "text" in refusal(parse_query, wrong)


def test_a_text_of_many_megabytes_is_refused():
    assert refusal(parse_where, "age = 1" + " " * 5_000_000).startswith("the SQL is longer than")


def test_control_characters_in_a_text_are_shown_escaped():
    assert refusal(parse_where, "grade = '\x1b[31m\nred'").startswith(
        r"grade has no value '\x1b[31m\nred'"
    )


def test_a_word_we_do_not_read_is_never_ignored():
    assert "SYMMETRIC" in refusal(parse_where, "age BETWEEN SYMMETRIC 3 AND 1")


def test_deep_nesting_of_any_kind_is_refused_cleanly():
    for text in (
        "NOT (" * 30 + "age = 1" + ")" * 31,
        "age = " + "- " * 5000 + "1",
        "age = " + "CASE WHEN TRUE THEN " * 500 + "1" + " END" * 500,
        "((age = 1) OR " * 500 + "TRUE" + ")" * 500,
    ):
        refusal(parse_where, text)


def test_any_number_of_signs_is_read_or_refused_but_never_a_crash():
    assert parse_where("age = - - 1", CENSUS) == parse_where("age = 1", CENSUS)
    for signs in range(20, 1200, 20):
        try:
            boxes = parse_where("age = " + "- " * signs + "1", CENSUS)
        except QueryError as problem:
            assert str(problem) == "the SQL is nested too deeply"
        else:
            assert boxes == parse_where("age = 1", CENSUS)


JUMBLE = """SELECT COUNT(*) FROM census WHERE GROUP BY ORDER LIMIT age income grade "marital-status"
LEVEL ( ) , ; = <> < <= > >= BETWEEN AND OR NOT IN IS NULL 1 -2.5 1e9 'young' 'low' '[0,' 10) *
HAVING JOIN ON CASE WHEN THEN END DISTINCT UNION INTERVAL CAST AS DATE + - / || :: [ ] { } ? @ $ ` "
' -- /* */ EXISTS VALUES WINDOW"""


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(JUMBLE.split()), max_size=14).map(" ".join), st.booleans())
def test_any_jumble_of_words_is_read_or_refused_in_one_line(words, bare):
    try:
        if bare:
            parse_where(words, CENSUS)
        else:
            parse_query(f"SELECT COUNT(*) FROM census {words}", CENSUS)
    except QueryError as problem:
        assert len(str(problem).splitlines()) == 1
        assert "\x1b" not in str(problem)

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


NO_SELECT = (
    "a SELECT inside a condition is not answered; "
    "ask it by itself, and compare with the values it gives"
)
NO_JOIN = (
    "joins are not answered: each release is of one table and has noise of its own; "
    "publish the joined table, or ask one table at a time"
)
DERIVED = (
    "a derived table may leave rows out by WHERE and compute columns, "
    "as in (SELECT *, age // 10 AS decade FROM census WHERE age > 17)"
)
OVERALL = "SUM(COUNT(*)) OVER () is the count of all groups"
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
    "age IN (SELECT 1)": NO_SELECT,
    "EXISTS (SELECT 1)": NO_SELECT,
    "age LIKE '1%'": "age has no labels for LIKE; compare it by =, < or BETWEEN",
    "grade LIKE 5": "LIKE takes a text such as 'a%', not '5'",
    "grade LIKE 'a!' ESCAPE '!'": "a pattern of LIKE ends with its ESCAPE character",
    "grade LIKE 'a' ESCAPE 'ab'": "ESCAPE takes one character",
    "grade SIMILAR TO 'l'": "\"grade SIMILAR TO 'l'\" is not supported; "
    "use LIKE with % and _, or IN",
    "regexp_matches(grade, 'l')": "\"REGEXP_MATCHES(grade, 'l')\" is not supported; "
    "use LIKE with % and _, or IN",
    "FLOOR(age / 2) = 'x'": "\"'x'\" is not a value that 'FLOOR(age / 2)' can be compared with",
    "LEFT(grade, 1) = 'x'": "'LEFT(grade, 1)' is never \"'x'\"",
    "LEFT(grade, 1) > 'h'": "'LEFT(grade, 1)' is a text; compare it by = or IN",
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
    "LEVEL(age, 1) = 'young'": "'LEVEL(age, 1)' stands where an attribute should",
    "age + 1 = 2": "'age + 1' stands where an attribute should",
    "1 = 1": "'1' stands where an attribute should",
    "age": "'age' is not a condition by itself",
    "age IS NOT DISTINCT FROM 1": "'age IS NOT DISTINCT FROM 1' is not supported in WHERE",
}
QUERIES = {
    "SELECT COUNT(*)": "there is no FROM; write FROM census",
    "SELECT COUNT(*) FROM people": "there is no table 'people'; this release holds census",
    "SELECT COUNT(*) FROM (SELECT 1) x": "there is no FROM; write FROM census",
    "SELECT COUNT(*) FROM (VALUES (1)) x": "FROM '(VALUES (1)) AS x' is not supported; "
    "write FROM census",
    "SELECT COUNT(*) FROM (SELECT DISTINCT age FROM census) x": "'DISTINCT' is not supported here; "
    + DERIVED,
    "SELECT COUNT(*) FROM (SELECT age FROM census LIMIT 3) x": "'LIMIT 3' is not supported here; "
    + DERIVED,
    "SELECT COUNT(*) FROM (SELECT COUNT(*) FROM census) x": "'COUNT(*)' is not supported "
    "in a derived table; " + DERIVED,
    "SELECT COUNT(*) FROM (SELECT age + 1 FROM census) x": "'age + 1' needs a name "
    "in a derived table; write 'age + 1' AS name",
    "SELECT SUM(age) FROM (SELECT grade FROM census) x": "there is no column 'age' "
    "in the derived table; it has grade",
    "SELECT SUM(y.age) FROM (SELECT * FROM census) x": "there is no table 'y' in this query",
    "SELECT COUNT(*) FROM census JOIN b ON a = b": NO_JOIN,
    "SELECT COUNT(*) FROM census, b": NO_JOIN,
    "SELECT COUNT(*) FROM (SELECT * FROM census, b) x": NO_JOIN,
    "SELECT MIN(age) FROM census": "MIN is one person's value, which noise hides; "
    "ask QUANTILE_CONT(x, 0.01)",
    "SELECT MAX(age) FROM census": "MAX is one person's value, which noise hides; "
    "ask QUANTILE_CONT(x, 0.99)",
    "SELECT COUNT(DISTINCT age) FROM census": "'COUNT(DISTINCT age)' cannot be answered: "
    "noise hides which values occur; ask COUNT(*) … GROUP BY the attribute, "
    "and see which intervals are above zero",
    "SELECT DISTINCT age FROM census": "DISTINCT is not supported: noise hides which values "
    "occur; use GROUP BY, which shows every value there may be",
    "SELECT SUM(grade) FROM census": "'SUM(grade)': grade has labels, not numbers; "
    "ask COUNT(*) … GROUP BY grade",
    "SELECT MEDIAN(grade) FROM census": "'MEDIAN(grade)': grade has labels, not numbers; "
    "ask COUNT(*) … GROUP BY grade",
    "SELECT SUM(FLOOR(age)) FROM census": "'SUM(FLOOR(age))': sums of rounded values are not "
    "answered; leave the rounding away",
    "SELECT SUM(age > 1) FROM census": "'SUM(age > 1)' is of texts or conditions; "
    "give numbers: THEN 1 ELSE 0",
    "SELECT SUM(age * income) FROM census": "'age * income' cannot be answered: an attribute is "
    "multiplied or divided by a number other than zero, and // is for whole numbers; "
    "use FLOOR(x / 10)",
    "SELECT VARIANCE(2 * age) FROM census": "'VARIANCE(2 * age)' takes a single attribute; "
    "conditions go into FILTER",
    "SELECT QUANTILE_CONT(age, 2) FROM census": "a quantile takes one share from 0 to 1, "
    "such as 0.9, not '2'",
    "SELECT QUANTILE_CONT(age, [0.1, 0.9]) FROM census": "a quantile takes one share from 0 to 1, "
    "such as 0.9, not 'ARRAY(0.1, 0.9)'",
    "SELECT ROUND(AVG(age), 1) FROM census": "'AVG(age)' is not rounded, "
    "its interval would not hold; ask for it as it is",
    "SELECT AVG(age) + age FROM census": "'age' stands outside an aggregate; write AVG(age), "
    "or put a condition on it into WHERE",
    "SELECT COUNT(*) OVER () FROM census": "'COUNT(*) OVER ()' is not answered; " + OVERALL,
    "SELECT grade, SUM(AVG(age)) OVER () FROM census GROUP BY 1": "'SUM(AVG(age)) OVER ()': "
    "only counts and sums add up over groups; " + OVERALL,
    "SELECT grade, SUM(COUNT(*)) OVER (PARTITION BY age) FROM census GROUP BY 1": "'SUM(COUNT(*)) "
    "OVER (PARTITION BY age)': only OVER () is answered; " + OVERALL,
    "SELECT SUM(COUNT(*)) OVER () FROM census HAVING COUNT(*) > 1": "'SUM(COUNT(*)) OVER ()' "
    "cannot stand in HAVING, nor beside HAVING or ROLLUP",
    "SELECT age, SUM(COUNT(*)) OVER () FROM census GROUP BY ROLLUP (age)": "OVER () beside ROLLUP, "
    "CUBE or GROUPING SETS is not answered",
    "SELECT COUNT(*) FROM census HAVING age > 1": "'age' stands outside an aggregate; "
    "write AVG(age), or put a condition on it into WHERE",
    "SELECT COUNT(*) FROM census HAVING COUNT(*)": "'COUNT(*)' is not supported in HAVING; "
    "it compares aggregates and numbers, joined by AND, OR and NOT",
    "SELECT COUNT(*) FROM census GROUP BY age WITH ROLLUP": "write the columns in parentheses: "
    "GROUP BY ROLLUP (a, b)",
    "SELECT FLOOR(income / 15), COUNT(*) FROM census GROUP BY 1": "the bin [10, 20.5) of income "
    "would fall into several groups; group by income itself, "
    "or by a CASE with conditions at its edges",
    "SELECT income * 2, COUNT(*) FROM census GROUP BY 1": "the bin [0, 10) of income "
    "would fall into several groups; group by income itself, "
    "or by a CASE with conditions at its edges",
    "SELECT age + income, COUNT(*) FROM census GROUP BY 1": "'age + income' is of several "
    "attributes; use one at a time",
    "SELECT YEAR(age), COUNT(*) FROM census GROUP BY 1": "age has no dates, "
    "so EXTRACT and DATE_TRUNC do not apply",
    "SELECT LEFT(age, 1), COUNT(*) FROM census GROUP BY 1": "'LEFT(age, 1)': age has no labels "
    "to take a part of",
    "SELECT CASE WHEN age > 1 THEN 'a' ELSE 1 END, COUNT(*) FROM census GROUP BY 1": '"CASE WHEN '
    "age > 1 THEN 'a' ELSE 1 END\" gives texts and numbers, or conditions; give one of them",
    "SELECT FLOOR(age / 2), COUNT(*) FROM census GROUP BY age": "floor(age / 2) is not grouped; "
    "add GROUP BY floor(age / 2)",
    "SELECT COUNT(*) FROM census UNION SELECT COUNT(*) FROM census": "UNION is not supported; "
    "ask each SELECT by itself, or one SELECT with OR in its WHERE",
    "SELECT COUNT(*) FROM census ORDER BY age + 1": "ORDER BY age + 1: "
    "it is not among the GROUP BY columns",
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
    "SELECT COUNT(*) FROM census GROUP BY 1": "GROUP BY takes attributes, LEVEL(attribute, k) "
    "and expressions of attributes, not aggregates such as COUNT(*)",
    "SELECT COUNT(*) FROM census GROUP BY 2": "GROUP BY '2': positions go from 1 to 1, "
    "the columns of the SELECT list",
    "SELECT COUNT(*) FROM census GROUP BY ALL": "ALL is not supported here; "
    "GROUP BY takes attributes, LEVEL(attribute, k) and expressions of attributes",
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
    "SELECT * FROM census": "'*' is not supported",
    "SELECT age FROM census GROUP BY age": "the SELECT list needs an aggregate, such as COUNT(*)",
    "SELECT MODE(age) FROM census": "'MODE(age)' is not supported",
    "SELECT age % 2, COUNT(*) FROM census GROUP BY 1": "'age % 2' is not supported",
    "SELECT 1, COUNT(*) FROM census": "'1' is not supported as a column",
    "SELECT COUNT(*) FROM census TABLESAMPLE (10)": "'TABLESAMPLE (10",
    "SELECT COUNT(*) FROM census GROUP BY age WITH TOTALS": "TOTALS is not supported here",
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
        "a condition joins =, <>, <, <=, >, >=, BETWEEN, IN, LIKE and IS NULL "
        "between an attribute and values by AND, OR and NOT"
    )


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_is_refused_with_this_line(text):
    assert refusal(parse_query, text) == QUERIES[text]


@pytest.mark.parametrize("text", STATEMENTS)
def test_an_unsupported_statement_is_named_with_what_is_supported(text, caplog, capfd):
    message = refusal(parse_query, text)
    assert STATEMENTS[text] in message
    assert re.search(
        r"supported: SELECT|aggregates are|expressions are|GROUP BY takes|write FROM", message
    )
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

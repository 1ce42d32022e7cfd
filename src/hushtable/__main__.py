"""`python -m hushtable` is `hush`, also where that is not on the path."""

from hushtable.cli.main import run

if __name__ == "__main__":
    run("python -m hushtable")

"""From values to codes, as SQL that fails on no value: encode, bound contributions, write down."""

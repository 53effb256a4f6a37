"""The answer to bad input: one short sentence, or a list of them under a heading."""


def sentences(text: str) -> list[str]:
    head, *several = text.split("\n")
    if not several:
        return [head]
    assert head.endswith("values are wrong or missing:"), text
    assert 2 <= len(several) <= 21, "some are listed, with the number of those left out"
    assert all(line.startswith("  ") and line.strip() for line in several), text
    return [line.strip() for line in several]

"""What bad input is answered with: one short sentence, or a list of them under a head."""


def sentences(text: str) -> list[str]:
    head, *several = text.split("\n")
    if not several:
        return [head]
    assert head.endswith("values are wrong or missing:"), text
    assert 2 <= len(several) <= 21, "so many are listed, and how many more there are"
    assert all(line.startswith("  ") and line.strip() for line in several), text
    return [line.strip() for line in several]

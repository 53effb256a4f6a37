"""A picture of a paper's numbers next to hilt's."""

from hilt.report import figure
from hilt.report.colours import MADE, MEASURED, TRUTH
from hilt.report.figure import Picture
from hilt.reproduce.claims import DIFFERS, REPRODUCED, Claim, Reproduction

LONGEST = 58  # characters of a claim in the picture
CHOSEN = "0.45"  # grey: fitted, or by construction
WIDEST = 2.0  # times the paper's number; larger ratios are drawn at the edge


def numbers_picture(found: Reproduction) -> Picture | None:
    """Draw hilt's numbers in percent of the paper's, one line each; None if the paper gives no number."""
    pairs = [(claim, paper, here) for claim in found.claims for paper, here in claim.numbers if paper]
    if not pairs:
        return None
    fig, axes = figure.subplots(figsize=(10.0, 0.24 * len(pairs) + 1.0))
    for n, (claim, paper, here) in enumerate(pairs):
        ratio = here / paper
        shown = min(max(ratio, 0.0), WIDEST)
        colour = MEASURED if claim.verdict == REPRODUCED else MADE if claim.verdict == DIFFERS else CHOSEN
        mark, chosen = "o" if shown == ratio else ">", colour == CHOSEN
        axes.plot([100.0, 100.0 * shown], [n, n], color=colour, linewidth=1.2)
        axes.plot(
            [100.0 * shown],
            [n],
            mark,
            color=colour,
            markersize=9 if chosen else 6,
            markerfacecolor="white" if chosen else colour,
        )
        axes.plot([100.0], [n], "D", color=TRUTH, markersize=4)
        text = f"{paper:.4g} / {here if abs(ratio) > 1e-4 else 0.0:.4g}"
        axes.annotate(text, (1.01, n), xycoords=("axes fraction", "data"), va="center", fontsize=8)
    axes.set_yticks(range(len(pairs)), [_short(claim) for claim, _, _ in pairs], fontsize=8)
    axes.set(ylim=(len(pairs) - 0.4, -0.6), xlabel="hilt, in % of the paper's number")
    axes.set_xlim(*_limits([here / paper for _, paper, here in pairs]))
    axes.set_title("paper / hilt", fontsize=8, loc="right")
    caption = (
        "Diamond: the paper. Circle: hilt; red where they differ, hollow where an input was chosen to give the number or the "
        "result could not be otherwise. Only claims for which the paper gives a number."
    )
    return Picture("The paper's numbers and hilt's", caption, fig)


def _limits(ratios: list[float]) -> tuple[float, float]:
    inside = [min(max(ratio, 0.0), WIDEST) for ratio in ratios]
    low, high = min(0.95, *inside), max(1.05, *inside)
    margin = 0.04 * (high - low)
    return 100.0 * (low - margin), 100.0 * (high + margin)


def _short(claim: Claim) -> str:
    words = f"{claim.where}: {claim.what}"
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1].rstrip()}…"

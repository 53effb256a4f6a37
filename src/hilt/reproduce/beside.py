"""The numbers that a paper gives, drawn beside ours."""

from hilt.report import figure
from hilt.report.colours import MADE, MEASURED, TRUTH
from hilt.report.figure import Picture
from hilt.reproduce.claims import Claim, Reproduction

LONGEST = 58  # characters of a claim in the picture
WIDEST = 2.0  # times the paper's number; what is beyond is drawn at the edge


def numbers_picture(found: Reproduction) -> Picture | None:
    """Ours in percent of the paper's, a line for each number; nothing where the paper gives none."""
    pairs = [(claim, paper, here) for claim in found.claims for paper, here in claim.numbers]
    if not pairs:
        return None
    fig, axes = figure.subplots(figsize=(10.0, 0.24 * len(pairs) + 1.0))
    for n, (claim, paper, here) in enumerate(pairs):
        ratio = here / paper
        shown, colour = min(max(ratio, 0.0), WIDEST), MEASURED if claim.holds else MADE
        axes.plot([100.0, 100.0 * shown], [n, n], color=colour, linewidth=1.2)
        axes.plot([100.0 * shown], [n], "o" if shown == ratio else ">", color=colour, markersize=6)
        axes.plot([100.0], [n], "D", color=TRUTH, markersize=5)
        axes.annotate(f"{paper:.4g} / {here:.4g}", (1.01, n), xycoords=("axes fraction", "data"), va="center", fontsize=8)
    axes.set_yticks(range(len(pairs)), [_short(claim) for claim, _, _ in pairs], fontsize=8)
    axes.set(ylim=(len(pairs) - 0.4, -0.6), xlabel="ours, in % of the paper's number")
    axes.set_xlim(*_limits([here / paper for _, paper, here in pairs]))
    axes.set_title("paper / ours", fontsize=8, loc="right")
    caption = "Diamond: the paper. Circle: ours, red where they differ. Only claims for which the paper gives a number."
    return Picture("The paper's numbers beside ours", caption, fig)


def _limits(ratios: list[float]) -> tuple[float, float]:
    inside = [min(max(ratio, 0.0), WIDEST) for ratio in ratios]
    low, high = min(0.95, *inside), max(1.05, *inside)
    margin = 0.04 * (high - low)
    return 100.0 * (low - margin), 100.0 * (high + margin)


def _short(claim: Claim) -> str:
    words = f"{claim.where}: {claim.what}"
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1].rstrip()}…"

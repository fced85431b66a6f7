"""The score under each self-paced regulariser."""
from matplotlib.figure import Figure

from ..ablation import by_setting, rule_of
from ..palette import colour
from ..runs import Comparison
from ..scores import average_score, final_score, score_name, spread
from .style import panels, styled


@styled
def draw(comparison: Comparison) -> Figure:
    """Draw bars of the final and of the average score by regulariser.

    Whiskers are one standard deviation over seeds.
    """
    found = by_setting(comparison, rule_of)
    figure, (axes, ) = panels()
    width = .38
    for shift, (name, question) in enumerate(
            (('after the last step', final_score),
             ('average over steps', average_score))):
        values = [spread([question(r) for r in records])
                  for records in found.values()]
        places = [i + (shift - .5) * width for i in range(len(found))]
        axes.bar(places, [100 * (v.mean or 0) for v in values], width,
                 color=colour(shift), label=name)
        seeded = [(x, v) for x, v in zip(places, values, strict=True)
                  if v.sd is not None]
        axes.errorbar([x for x, _ in seeded],
                      [100 * v.mean for _, v in seeded],
                      [100 * v.sd for _, v in seeded], fmt='none',
                      ecolor='black', elinewidth=.8, capsize=2)
    long = sum(map(len, found)) > 36  # more do not fit beside each other
    axes.set_xticks(range(len(found)), list(found),
                    **(dict(rotation=20, ha='right') if long else {}))
    axes.set(xlabel='self-paced regulariser',
             ylabel=f'{score_name(comparison.example)} (%)')
    axes.grid(False, axis='x')
    figure.legend(loc='outside upper center', ncols=2)
    return figure

from __future__ import annotations

import pytest

from examples.catalog.output import picture
from examples.catalog.output.picture import Second, Story
from tests.catalog.makers import sample


def test_rates_are_differences_over_the_time_between_samples():
    same = sample(2, 100, faults=4)
    samples = [sample(0, 0), same, same, sample(6, 100, faults=4, repeats=8, bundled=20, queued=12)]

    assert picture.seconds(samples) == [Second(0, 2, 50, 2, 0, 0, 0), Second(2, 4, 0, 0, 2, 5, 3)]


def story_of(total: int, title: str, seconds: float = 30.0) -> Story:
    """A run of *total* items with much of everything that the legends count."""
    parts = [n / 20 for n in range(21)]
    counts = [(seconds * part, *[int(total * part)] * 4) for part in parts]
    samples = [sample(*each, faults=total, repeats=total) for each in counts]
    sent = [seconds * part for part in parts[:total]]
    return Story(title, total, sent, samples, completed=seconds * 0.9, event=seconds * 0.91)


HUGE = "1,000,000,000 packages, 1,020,000,000 messages, one completion (chaos with seed 4294967295)"
STORIES = {
    "the demo": story_of(10_000, "10,000 packages, 10,304 messages, one completion (chaos with seed 1)"),
    "a tiny one": story_of(3, "3 packages, 3 messages, one completion (no chaos)", seconds=0.5),
    "a huge one": story_of(10**9, HUGE, 10**5),
}


@pytest.fixture(params=STORIES.values(), ids=STORIES.keys())
def figure(request):
    with picture.plt.rc_context(picture.STYLE):
        drawn = picture.figure_of(request.param)
        drawn.canvas.draw()
        yield drawn
        picture.plt.close(drawn)


def test_every_text_and_legend_lies_within_the_picture(figure):
    renderer = figure.canvas.get_renderer()
    legends = [axes.get_legend() for axes in figure.axes]
    texts = [figure._suptitle, *(text for each in legends for text in each.get_texts())]
    labels = [each for axes in figure.axes for each in (axes.xaxis.label, axes.yaxis.label)]
    # The tight box of axes holds their tick labels, which have no place of their own before they are drawn.
    boxes = [axes.get_tightbbox(renderer) for axes in figure.axes]

    boxes += [artist.get_window_extent(renderer) for artist in (*legends, *texts, *labels)]

    assert len(boxes) == 3 + 3 + 8 + 6  # plots, legends, their seven texts and the title, names of axes
    for box in boxes:
        assert figure.bbox.x0 <= box.x0 <= box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 <= box.y1 <= figure.bbox.y1

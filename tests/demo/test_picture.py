from __future__ import annotations

from matplotlib import image

from pipeline.demo import picture
from pipeline.demo.picture import Second, Story
from tests.demo.makers import sample


def test_rates_are_differences_over_the_time_between_samples():
    samples = [
        sample(0, 0),
        sample(2, 100, faults=4),
        sample(2, 100, faults=4),
        sample(6, 100, faults=4, repeats=8, bundled=20),
    ]

    assert picture.seconds(samples) == [Second(0, 2, 50, 2, 0, 0), Second(2, 4, 0, 0, 2, 5)]


def test_the_line_of_what_was_sent_says_that_it_counts_items_where_more_messages_went():
    story = Story("10 packages, 12 messages", 10, range(10), [sample(0, 0), sample(2, 10)], 1.9, 2.2)
    figure, axes = picture.plt.subplots()

    picture._draw_total(axes, story)
    lines = {line.get_label(): line for line in axes.get_lines()}
    picture.plt.close(figure)

    assert max(lines["sent to SQS by Spark, each item once (10)"].get_ydata()) == 10


def test_a_story_is_drawn_even_where_nothing_went_wrong(tmp_path):
    samples = [sample(0, 0), sample(1, 5), sample(2, 10, bundled=4, calls=2)]
    story = Story("10 packages", 10, [n / 10 for n in range(10)], samples, completed=1.9, event=2.2)

    picture.draw(story, tmp_path / "acks.png")

    assert image.imread(tmp_path / "acks.png").shape == (900, 1200, 4)

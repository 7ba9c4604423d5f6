"""Works on the rows of a chunk; an exception sends only its row to a worker again."""

from fanin import ChunkItem, Fanin

fanin = Fanin()


@fanin.acks_each(fail_after=3)
def handler(item: ChunkItem) -> None:
    print("priced", item.id, item.row)  # stands for your work




def test_the_sweeper_completes_what_a_crash_left(tracker, clock):
    """All leaves are full, no parent knows of it, and close got no further than CLOSED."""
    batch_id, group = opened(tracker, 35)
    ack(tracker, batch_id, group, *range(35))
    store = tracker.store
    for key in list(store.stored_pages):
        if key.level:
            store.stored_pages[key] = Page()
    store.transition(key.batch, transition(tracker.get("t", batch_id), State.CLOSED, clock.at))
    clock.at += CHECK_AFTER

    assert tracker.sweep().completed == 1
    assert tracker.get("t", batch_id).state is State.COMPLETE
    assert tracker.sweep().looked == 0

"""Who works on an item here, and to whom its work goes: a child batch, a job, a task, a next stage."""

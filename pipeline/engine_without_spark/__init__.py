"""What the jobs need where no Spark runs them: files, processes and output of this machine."""

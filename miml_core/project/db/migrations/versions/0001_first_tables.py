"""The first tables.

Written down as they were, so that this step stays the same whatever `schema.py` becomes.
"""

from alembic import op

revision = "0001"
down_revision = None

TABLES = (
    """
    CREATE TABLE classes (
      id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
      name TEXT NOT NULL,
      name_key TEXT NOT NULL,
      colour TEXT NOT NULL,
      shortcut TEXT NOT NULL,
      scientific_name TEXT NOT NULL,
      note TEXT NOT NULL,
      merged_into INTEGER,
      removed BOOLEAN NOT NULL,
      FOREIGN KEY(merged_into) REFERENCES classes (id)
    )
    """,
    """
    CREATE UNIQUE INDEX one_class_a_name ON classes (name_key) WHERE merged_into IS NULL AND NOT removed
    """,
    """
    CREATE TABLE edits (
      nonce TEXT NOT NULL,
      number INTEGER NOT NULL,
      result TEXT NOT NULL,
      at FLOAT NOT NULL,
      PRIMARY KEY (nonce, number)
    )
    """,
    """
    CREATE TABLE grids (
      id INTEGER NOT NULL,
      grid TEXT NOT NULL,
      PRIMARY KEY (id),
      UNIQUE (grid)
    )
    """,
    """
    CREATE TABLE history (
      id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
      at FLOAT NOT NULL,
      annotator TEXT NOT NULL,
      act TEXT NOT NULL,
      kind TEXT NOT NULL,
      bag_id INTEGER,
      sentence TEXT NOT NULL,
      changes TEXT NOT NULL,
      target INTEGER,
      undone BOOLEAN NOT NULL,
      revision INTEGER NOT NULL,
      nonce TEXT,
      FOREIGN KEY(target) REFERENCES history (id)
    )
    """,
    """
    CREATE INDEX history_by_revision ON history (revision)
    """,
    """
    CREATE INDEX history_of_a_bag ON history (bag_id, id)
    """,
    """
    CREATE INDEX history_of_a_person ON history (annotator, kind, id)
    """,
    """
    CREATE TABLE jobs (
      id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
      kind TEXT NOT NULL,
      lane TEXT NOT NULL,
      params TEXT NOT NULL,
      state TEXT NOT NULL,
      done INTEGER NOT NULL,
      total INTEGER NOT NULL,
      message TEXT NOT NULL,
      info TEXT NOT NULL,
      result TEXT NOT NULL,
      cancel BOOLEAN NOT NULL,
      pid INTEGER,
      host TEXT,
      heartbeat FLOAT,
      created_at FLOAT NOT NULL,
      started_at FLOAT,
      finished_at FLOAT,
      annotator TEXT NOT NULL
    )
    """,
    """
    CREATE INDEX ix_jobs_state ON jobs (state)
    """,
    """
    CREATE TABLE media (
      id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
      path TEXT NOT NULL,
      size INTEGER NOT NULL,
      fingerprint TEXT NOT NULL,
      duration FLOAT,
      rate INTEGER,
      channels INTEGER,
      width INTEGER,
      height INTEGER,
      recorded_at TEXT,
      recorded_from TEXT,
      missing BOOLEAN NOT NULL,
      UNIQUE (path)
    )
    """,
    """
    CREATE INDEX ix_media_fingerprint ON media (fingerprint)
    """,
    """
    CREATE TABLE meta (
      "key" TEXT NOT NULL,
      value TEXT NOT NULL,
      PRIMARY KEY ("key")
    )
    """,
    """
    CREATE TABLE runs (
      id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
      model TEXT NOT NULL,
      params TEXT NOT NULL,
      seed INTEGER NOT NULL,
      state TEXT NOT NULL,
      started_at FLOAT NOT NULL,
      seconds FLOAT,
      scores TEXT NOT NULL,
      curves TEXT NOT NULL,
      classes TEXT NOT NULL,
      background BOOLEAN NOT NULL,
      feature_key TEXT NOT NULL,
      n_bags INTEGER NOT NULL,
      n_segments INTEGER NOT NULL,
      n_corrections INTEGER NOT NULL,
      annotator TEXT NOT NULL,
      message TEXT NOT NULL,
      job_id INTEGER
    )
    """,
    """
    CREATE TABLE topics (
      name TEXT NOT NULL,
      revision INTEGER NOT NULL,
      PRIMARY KEY (name)
    )
    """,
    """
    CREATE TABLE bags (
      id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
      media_id INTEGER NOT NULL,
      name TEXT NOT NULL,
      start FLOAT NOT NULL,
      "end" FLOAT NOT NULL,
      recorded_at TEXT,
      note TEXT NOT NULL,
      finished BOOLEAN NOT NULL,
      rest_unknown BOOLEAN NOT NULL,
      segment_key TEXT,
      grid_id INTEGER,
      error TEXT,
      revision INTEGER NOT NULL,
      tags_at FLOAT NOT NULL,
      n_tags INTEGER NOT NULL,
      n_segments INTEGER NOT NULL,
      n_reviewed INTEGER NOT NULL,
      doubt FLOAT,
      FOREIGN KEY(media_id) REFERENCES media (id),
      FOREIGN KEY(grid_id) REFERENCES grids (id)
    )
    """,
    """
    CREATE INDEX ix_bags_media_id ON bags (media_id)
    """,
    """
    CREATE INDEX ix_bags_revision ON bags (revision)
    """,
    """
    CREATE TABLE job_failures (
      id INTEGER NOT NULL,
      job_id INTEGER NOT NULL,
      item TEXT NOT NULL,
      reason TEXT NOT NULL,
      bag_id INTEGER,
      PRIMARY KEY (id),
      FOREIGN KEY(job_id) REFERENCES jobs (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE INDEX ix_job_failures_job_id ON job_failures (job_id)
    """,
    """
    CREATE TABLE job_log (
      id INTEGER NOT NULL,
      job_id INTEGER NOT NULL,
      at FLOAT NOT NULL,
      text TEXT NOT NULL,
      PRIMARY KEY (id),
      FOREIGN KEY(job_id) REFERENCES jobs (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE INDEX ix_job_log_job_id ON job_log (job_id)
    """,
    """
    CREATE TABLE bag_predictions (
      run_id INTEGER NOT NULL,
      bag_id INTEGER NOT NULL,
      revision INTEGER NOT NULL,
      segment_ids BLOB NOT NULL,
      posterior BLOB NOT NULL,
      free_top BLOB NOT NULL,
      free_probability BLOB NOT NULL,
      tag_probabilities BLOB,
      informative BLOB,
      key_segments BLOB,
      PRIMARY KEY (run_id, bag_id),
      FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE,
      FOREIGN KEY(bag_id) REFERENCES bags (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE INDEX ix_bag_predictions_bag_id ON bag_predictions (bag_id)
    """,
    """
    CREATE TABLE features (
      bag_id INTEGER NOT NULL,
      feature_key TEXT NOT NULL,
      n_features INTEGER NOT NULL,
      exact BOOLEAN NOT NULL,
      segment_ids BLOB NOT NULL,
      numbers BLOB NOT NULL,
      PRIMARY KEY (bag_id),
      FOREIGN KEY(bag_id) REFERENCES bags (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE segments (
      id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
      bag_id INTEGER NOT NULL,
      number INTEGER NOT NULL,
      grid_id INTEGER NOT NULL,
      region BLOB NOT NULL,
      "left" FLOAT NOT NULL,
      "right" FLOAT NOT NULL,
      low FLOAT NOT NULL,
      high FLOAT NOT NULL,
      origin TEXT NOT NULL,
      alive BOOLEAN NOT NULL,
      revision INTEGER NOT NULL,
      FOREIGN KEY(bag_id) REFERENCES bags (id) ON DELETE CASCADE,
      FOREIGN KEY(grid_id) REFERENCES grids (id)
    )
    """,
    """
    CREATE INDEX ix_segments_bag_id ON segments (bag_id)
    """,
    """
    CREATE TABLE tags (
      bag_id INTEGER NOT NULL,
      class_id INTEGER NOT NULL,
      value INTEGER NOT NULL,
      PRIMARY KEY (bag_id, class_id),
      FOREIGN KEY(bag_id) REFERENCES bags (id) ON DELETE CASCADE,
      FOREIGN KEY(class_id) REFERENCES classes (id)
    )
    """,
    """
    CREATE INDEX bags_of_a_class ON tags (class_id, value, bag_id)
    """,
    """
    CREATE TABLE predictions (
      segment_id INTEGER NOT NULL,
      bag_id INTEGER NOT NULL,
      top INTEGER NOT NULL,
      probability FLOAT NOT NULL,
      margin FLOAT NOT NULL,
      free_top INTEGER NOT NULL,
      free_probability FLOAT NOT NULL,
      contradiction FLOAT NOT NULL,
      shuffle INTEGER NOT NULL,
      informative FLOAT,
      reviewed BOOLEAN NOT NULL,
      PRIMARY KEY (segment_id),
      FOREIGN KEY(segment_id) REFERENCES segments (id) ON DELETE CASCADE,
      FOREIGN KEY(bag_id) REFERENCES bags (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE INDEX ix_predictions_bag_id ON predictions (bag_id)
    """,
    """
    CREATE INDEX review_at_random ON predictions (shuffle) WHERE NOT reviewed
    """,
    """
    CREATE INDEX review_by_class ON predictions (top, probability) WHERE NOT reviewed
    """,
    """
    CREATE INDEX review_contradictions ON predictions (contradiction) WHERE NOT reviewed AND contradiction > 0
    """,
    """
    CREATE INDEX review_least_sure ON predictions (margin) WHERE NOT reviewed
    """,
    """
    CREATE INDEX review_most_informative ON predictions (informative) WHERE NOT reviewed AND informative IS NOT NULL
    """,
    """
    CREATE TABLE verdicts (
      segment_id INTEGER NOT NULL,
      class_id INTEGER,
      accepted BOOLEAN NOT NULL,
      sampled BOOLEAN NOT NULL,
      run_id INTEGER,
      predicted INTEGER,
      probability FLOAT,
      annotator TEXT NOT NULL,
      at FLOAT NOT NULL,
      PRIMARY KEY (segment_id),
      FOREIGN KEY(segment_id) REFERENCES segments (id),
      FOREIGN KEY(class_id) REFERENCES classes (id)
    )
    """,
    """
    CREATE INDEX ix_verdicts_at ON verdicts (at)
    """,
    """
    CREATE INDEX ix_verdicts_class_id ON verdicts (class_id)
    """,
)


def upgrade() -> None:
    for statement in TABLES:
        op.execute(statement)

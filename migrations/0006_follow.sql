-- What following a generation needs: how long such take, and what it looks like so far.

-- The most recent successes of a checkpoint; started_at counts from the first attempt on, so only those of one are measured.
CREATE INDEX generations_durations ON generations (filename, finished_at DESC)
  WHERE status = 'succeeded' AND attempt = 1;
--> statement-breakpoint
-- Live previews in one-machine mode; lost at a crash of Postgres without harm.
CREATE UNLOGGED TABLE generation_previews (
  generation_id  text PRIMARY KEY,
  attempt        integer NOT NULL,
  image          bytea NOT NULL CHECK (length(image) <= 32768),
  updated_at     timestamptz NOT NULL DEFAULT now()
);

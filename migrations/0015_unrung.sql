-- Deliveries that are not known to have reached the queue. A column of generations would have each of them that waits
-- written anew, with all its index entries. Lost at a crash of Postgres without harm: the reconciler then rings for all.

CREATE UNLOGGED TABLE unrung (
  generation_id  text PRIMARY KEY,
  attempt        integer NOT NULL
);
--> statement-breakpoint
INSERT INTO unrung SELECT id, attempt FROM generations WHERE status = 'queued' AND NOT rung;
--> statement-breakpoint
-- Its index goes with it.
ALTER TABLE generations DROP COLUMN rung;

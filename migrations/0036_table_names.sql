-- Two tables are called by what they hold. The views keep the old names for the processes of the release before, and
-- are dropped by the next one.

ALTER TABLE unrung RENAME TO unenqueued;
--> statement-breakpoint
ALTER INDEX unrung_pkey RENAME TO unenqueued_pkey;
--> statement-breakpoint
CREATE VIEW unrung AS SELECT generation_id, attempt FROM unenqueued;
--> statement-breakpoint
ALTER TABLE picture_takedowns RENAME TO takedowns;
--> statement-breakpoint
ALTER INDEX picture_takedowns_pkey RENAME TO takedowns_pkey;
--> statement-breakpoint
ALTER INDEX picture_takedowns_due RENAME TO takedowns_due;
--> statement-breakpoint
ALTER TABLE takedowns RENAME CONSTRAINT picture_takedowns_slug_fkey TO takedowns_slug_fkey;
--> statement-breakpoint
CREATE VIEW picture_takedowns AS SELECT slug, attempts, due_at FROM takedowns;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION note_takedown() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO takedowns (slug) VALUES (NEW.slug) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

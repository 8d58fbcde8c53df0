-- Pictures that were taken down, and of which the file, or the CDN's copy, may still be there.

CREATE TABLE picture_takedowns (
  slug      text PRIMARY KEY REFERENCES images,
  attempts  integer NOT NULL DEFAULT 0,
  due_at    timestamptz NOT NULL DEFAULT now()
);
--> statement-breakpoint
CREATE INDEX picture_takedowns_due ON picture_takedowns (due_at);
--> statement-breakpoint
-- In the transaction that takes the picture down, whoever does it: no crash comes between the two.
CREATE FUNCTION note_takedown() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO picture_takedowns (slug) VALUES (NEW.slug) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER images_takedown AFTER UPDATE OF removed_at ON images FOR EACH ROW
  WHEN (OLD.removed_at IS NULL AND NEW.removed_at IS NOT NULL) EXECUTE FUNCTION note_takedown();

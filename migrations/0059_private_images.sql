-- no-transaction
-- Images that only their owner and operators see, and whose files are kept where no public address leads.
ALTER TABLE images ADD COLUMN IF NOT EXISTS private boolean NOT NULL DEFAULT false;
--> statement-breakpoint
-- The audit looks at these alone.
CREATE INDEX CONCURRENTLY IF NOT EXISTS images_private ON images (slug) WHERE private;
--> statement-breakpoint
-- Images whose files are still to be brought to where `private` wants them.
CREATE TABLE IF NOT EXISTS image_moves (
  slug      text PRIMARY KEY REFERENCES images,
  -- Rises with each change, so that a move ends only what it has seen.
  changes   integer NOT NULL DEFAULT 0,
  attempts  integer NOT NULL DEFAULT 0,
  -- While a server moves the files, the end of its time for that.
  due_at    timestamptz NOT NULL DEFAULT now()
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS image_moves_due ON image_moves (due_at);
--> statement-breakpoint
-- In the transaction that changes the image. A private one that is taken down by the release before, which does not know of
-- the other place, has its files removed there, too.
CREATE OR REPLACE FUNCTION note_image_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- A move that is under way keeps its time, which is no longer than this; a pause after failures ends.
  INSERT INTO image_moves (slug) VALUES (NEW.slug) ON CONFLICT (slug) DO UPDATE
    SET changes = image_moves.changes + 1, due_at = least(image_moves.due_at, now() + interval '180 seconds');
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE TRIGGER images_move AFTER UPDATE OF private, removed_at ON images FOR EACH ROW
  WHEN (OLD.private <> NEW.private OR (NEW.private AND OLD.removed_at IS NULL AND NEW.removed_at IS NOT NULL))
  EXECUTE FUNCTION note_image_move();
--> statement-breakpoint
-- What every server must know and nobody else: 32 bytes, of which 244 bits are random.
CREATE TABLE IF NOT EXISTS secrets (
  name   text PRIMARY KEY,
  value  bytea NOT NULL
);
--> statement-breakpoint
INSERT INTO secrets (name, value)
SELECT 'images', decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex')
ON CONFLICT DO NOTHING;

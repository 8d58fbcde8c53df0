-- Servers hold a move of an image's files for some seconds at a time, which they prolong: when one dies, another goes on soon. Until this
-- moment a store may still carry out a removal that the one before had asked for, so nobody brings back what it removes.
ALTER TABLE image_moves ADD COLUMN removing_until timestamptz;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION note_image_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- A move that is under way keeps its time, which is no longer than this; a pause after failures ends.
  INSERT INTO image_moves (slug) VALUES (NEW.slug) ON CONFLICT (slug) DO UPDATE
    SET changes = image_moves.changes + 1,
        due_at = greatest(least(image_moves.due_at, now() + interval '180 seconds'), image_moves.removing_until);
  RETURN NULL;
END $$;

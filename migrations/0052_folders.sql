-- no-transaction
-- Folders in which an account sorts its images; an image may be in several.
CREATE TABLE IF NOT EXISTS folders (
  id          uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  user_id     uuid NOT NULL REFERENCES users,
  -- Null: the favourites.
  name        text CHECK (length(name) BETWEEN 1 AND 60),
  created_at  timestamptz NOT NULL DEFAULT now()
);
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS folders_name ON folders (user_id, coalesce(lower(name), ''));
--> statement-breakpoint
-- With the image's place in its owner's gallery, which never changes: a page of a folder reads no more than it shows.
CREATE TABLE IF NOT EXISTS folder_images (
  folder_id   uuid NOT NULL REFERENCES folders ON DELETE CASCADE,
  created_at  timestamptz NOT NULL,
  seq         bigint NOT NULL,
  idx         integer NOT NULL,
  slug        text NOT NULL REFERENCES images,
  PRIMARY KEY (folder_id, created_at, seq, idx)
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS folder_images_slug ON folder_images (slug, folder_id);
--> statement-breakpoint
-- Its owner deleted it, and can undo that until then.
ALTER TABLE images ADD COLUMN IF NOT EXISTS delete_at timestamptz;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS images_delete_at ON images (delete_at) WHERE delete_at IS NOT NULL AND removed_at IS NULL;
--> statement-breakpoint
-- Until Postgres knows that the column is empty, it expects to find a third of all images there. A table that is empty
-- itself must not be taken for one that stays so.
DO $$ BEGIN
  IF EXISTS (SELECT FROM images) THEN ANALYZE images (delete_at); END IF;
END $$;

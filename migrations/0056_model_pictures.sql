-- How people see a model version: a line about it, its picture, its place in the list, and whether it is taken where none
-- is named. The picture is an image's slug, or the name of one in model_covers; null: one is drawn from its ID.
ALTER TABLE model_versions
  ADD COLUMN description text CHECK (length(description) BETWEEN 1 AND 200),
  ADD COLUMN cover text,
  ADD COLUMN position integer,
  ADD COLUMN is_default boolean NOT NULL DEFAULT false;
--> statement-breakpoint
CREATE TABLE model_covers (
  name        text PRIMARY KEY,
  webp        bytea NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now()
);

-- Images from before, and those of workers of the version before, have none.
ALTER TABLE images ADD COLUMN has_thumbnail boolean NOT NULL DEFAULT false;

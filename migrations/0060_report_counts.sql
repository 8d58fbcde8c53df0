-- How many reports of visitors one row stands for: beyond a few of an image they are only counted.
ALTER TABLE image_reports ADD COLUMN times integer NOT NULL DEFAULT 1;

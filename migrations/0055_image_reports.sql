-- What visitors report about published images. A report is open until an operator dismisses it or the image is removed.
-- Nothing here tells who reported.
CREATE TABLE image_reports (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  slug          text NOT NULL REFERENCES images,
  at            timestamptz NOT NULL DEFAULT now(),
  reason        text NOT NULL,
  note          text NOT NULL DEFAULT '' CHECK (length(note) <= 1000),
  dismissed_at  timestamptz,
  dismissed_by  text
);
--> statement-breakpoint
CREATE INDEX image_reports_open ON image_reports (slug, id) WHERE dismissed_at IS NULL;

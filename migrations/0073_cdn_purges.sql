-- What the CDN has purged is purged once more a little later: it keeps what it had begun to fetch while the file was still there. Kept
-- here, so that it is done also where the server that purged first has ended since.
CREATE TABLE cdn_purges (
  url text PRIMARY KEY,
  attempts integer NOT NULL DEFAULT 0,
  due_at timestamptz NOT NULL
);
--> statement-breakpoint
CREATE INDEX cdn_purges_due ON cdn_purges (due_at);

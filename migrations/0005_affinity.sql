-- What claims need to keep a GPU on the model it has loaded.

-- When a claim first took a later generation in place of this one, the oldest; it may not be passed over much longer.
ALTER TABLE generations ADD COLUMN passed_over_at timestamptz;
--> statement-breakpoint
CREATE INDEX generations_queue_of_model ON generations (lane, filename, seq) WHERE status = 'queued';
--> statement-breakpoint
-- Widths and heights that are no multiple of this would be rounded by the server.
ALTER TABLE backends ADD COLUMN size_multiple integer NOT NULL DEFAULT 8;

-- What an account can look back on: its generations and pictures newest first, a page by one index each.

-- How the server was asked: {"backend", "version", "sampler", "scheduler"}. NULL: made before this was kept.
ALTER TABLE images ADD COLUMN made_with jsonb;
--> statement-breakpoint
CREATE INDEX generations_history ON generations (user_id, created_at DESC, seq DESC);
--> statement-breakpoint
-- Pictures are those of the generations that succeeded.
CREATE INDEX generations_history_of_status ON generations (user_id, status, created_at DESC, seq DESC);
--> statement-breakpoint
CREATE INDEX generations_history_of_model ON generations (user_id, model_version_id, created_at DESC, seq DESC);

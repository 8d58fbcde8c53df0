-- no-transaction
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS users_email ON users (lower(email)) WHERE deleted_at IS NULL;
--> statement-breakpoint
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS api_keys_website ON api_keys (user_id) WHERE kind = 'website';

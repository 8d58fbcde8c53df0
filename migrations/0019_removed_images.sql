-- no-transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS images_removed ON images (slug) WHERE removed_at IS NOT NULL;

-- no-transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS webhook_endpoints_due ON webhook_endpoints (due_at)
  WHERE disabled_at IS NULL AND deleted_at IS NULL;

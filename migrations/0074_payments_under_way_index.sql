-- no-transaction
-- Each view of an account's page asks for its own payments that are under way.
CREATE INDEX CONCURRENTLY IF NOT EXISTS payments_pending ON payments (customer) WHERE is_pending;

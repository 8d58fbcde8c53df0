-- Changes with the catalog. The look-up of a key reads it, so a server knows whether the model versions that it has read
-- before are still those: no submit then needs to read one again.
CREATE TABLE catalog_revision (
  only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  -- Random, not counted: a restored backup must not reach a revision that a server has seen before.
  revision  uuid NOT NULL
);
--> statement-breakpoint
-- Whoever changes the catalog, in the same transaction.
CREATE FUNCTION revise_catalog() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO catalog_revision (revision) VALUES (gen_random_uuid())
  ON CONFLICT (only_row) DO UPDATE SET revision = excluded.revision;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER model_versions_revised AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON model_versions
  FOR EACH STATEMENT EXECUTE FUNCTION revise_catalog();

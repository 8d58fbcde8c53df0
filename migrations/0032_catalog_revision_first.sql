-- Before the change, not after it: whoever changes the catalog takes the revision's row first, so that an import and a
-- change of a price wait for each other instead of ending in a deadlock. A restored backup must find the table too.
CREATE OR REPLACE FUNCTION revise_catalog() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  -- Once per transaction: an import changes each version in a statement of its own.
  INSERT INTO catalog_revision (revision) VALUES (gen_random_uuid())
  ON CONFLICT (only_row) DO UPDATE SET revision = excluded.revision
    WHERE catalog_revision.xmin <> pg_current_xact_id()::xid;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE TRIGGER model_versions_revised BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON model_versions
  FOR EACH STATEMENT EXECUTE FUNCTION revise_catalog();
--> statement-breakpoint
-- Changes that replication applies count as well.
ALTER TABLE model_versions ENABLE ALWAYS TRIGGER model_versions_revised;
--> statement-breakpoint
-- A catalog from before the revision has one from now on.
INSERT INTO catalog_revision (revision) VALUES (gen_random_uuid()) ON CONFLICT DO NOTHING;

-- Each of these tables becomes the live part of a partitioned one, whose other parts have one month each. What submits, runs and
-- ends generations goes on using the live tables alone. Here no row is read or moved.
LOCK TABLE generations, images, credit_ledger, usage, put_back_attempts, webhook_deliveries, folder_images, takedowns, image_moves,
  image_reports IN ACCESS EXCLUSIVE MODE;
--> statement-breakpoint
-- Postgres 17 takes no table with an identity column as a part. The numbers go on where they are, and who may insert may use them.
DO $$
DECLARE
  numbered record;
  reached bigint;
  role text;
BEGIN
  FOR numbered IN SELECT * FROM (VALUES ('generations', 'seq', 'generations_seq_seq'),
                                        ('credit_ledger', 'id', 'credit_ledger_id_seq')) AS t (tab, col, seq) LOOP
    reached := nextval(pg_get_serial_sequence(numbered.tab, numbered.col));
    EXECUTE format('ALTER TABLE %I ALTER %I DROP IDENTITY', numbered.tab, numbered.col);
    EXECUTE format('CREATE SEQUENCE %I AS bigint START %s OWNED BY %I.%I', numbered.seq, reached, numbered.tab, numbered.col);
    EXECUTE format('ALTER TABLE %I ALTER %I SET DEFAULT nextval(%L)', numbered.tab, numbered.col, numbered.seq);
    FOR role IN
      SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
        FROM pg_class, aclexplode(relacl) WHERE oid = numbered.tab::regclass AND privilege_type = 'INSERT' LOOP
      EXECUTE format('GRANT USAGE ON SEQUENCE %I TO %s', numbered.seq, role);
    END LOOP;
  END LOOP;
END $$;
--> statement-breakpoint
-- A row that they name may move to a month. Whoever inserts one reads the other in the same transaction, and no generation and no
-- image is ever deleted.
ALTER TABLE webhook_deliveries DROP CONSTRAINT webhook_deliveries_generation_id_fkey;
ALTER TABLE folder_images DROP CONSTRAINT folder_images_slug_fkey;
ALTER TABLE takedowns DROP CONSTRAINT takedowns_slug_fkey;
ALTER TABLE image_moves DROP CONSTRAINT image_moves_slug_fkey;
ALTER TABLE image_reports DROP CONSTRAINT image_reports_slug_fkey;
--> statement-breakpoint
-- Only its mover changes a row of the ledger: it sets `easel.moving` in its transaction, and changes nothing but the month.
CREATE OR REPLACE FUNCTION refuse_ledger_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('easel.moving', true) = 'on' THEN
    IF TG_OP = 'DELETE' THEN
      RETURN OLD;
    ELSIF OLD.month IS NULL AND to_jsonb(NEW) - 'month' = to_jsonb(OLD) - 'month' THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION 'the credit ledger is append-only';
END $$;
--> statement-breakpoint
CREATE TABLE all_generations (LIKE generations) PARTITION BY LIST (month);
CREATE TABLE all_images (LIKE images) PARTITION BY LIST (month);
CREATE TABLE all_credit_ledger (LIKE credit_ledger) PARTITION BY LIST (month);
CREATE TABLE all_usage (LIKE usage) PARTITION BY LIST (month);
CREATE TABLE all_put_back_attempts (LIKE put_back_attempts) PARTITION BY LIST (month);
--> statement-breakpoint
ALTER TABLE all_generations ATTACH PARTITION generations FOR VALUES IN (NULL);
ALTER TABLE all_images ATTACH PARTITION images FOR VALUES IN (NULL);
ALTER TABLE all_credit_ledger ATTACH PARTITION credit_ledger FOR VALUES IN (NULL);
ALTER TABLE all_usage ATTACH PARTITION usage FOR VALUES IN (NULL);
ALTER TABLE all_put_back_attempts ATTACH PARTITION put_back_attempts FOR VALUES IN (NULL);
--> statement-breakpoint
ALTER TABLE generations DROP CONSTRAINT is_live;
ALTER TABLE images DROP CONSTRAINT is_live;
ALTER TABLE credit_ledger DROP CONSTRAINT is_live;
ALTER TABLE usage DROP CONSTRAINT is_live;
ALTER TABLE put_back_attempts DROP CONSTRAINT is_live;
--> statement-breakpoint
-- Each part has these.
DROP TRIGGER generations_guard ON generations;
CREATE TRIGGER generations_guard BEFORE UPDATE ON all_generations FOR EACH ROW EXECUTE FUNCTION guard_generation();
DROP TRIGGER credit_ledger_append_only ON credit_ledger;
CREATE TRIGGER credit_ledger_append_only BEFORE UPDATE OR DELETE ON all_credit_ledger
  FOR EACH ROW EXECUTE FUNCTION refuse_ledger_change();
DROP TRIGGER images_takedown ON images;
CREATE TRIGGER images_takedown AFTER UPDATE OF removed_at ON all_images FOR EACH ROW
  WHEN (OLD.removed_at IS NULL AND NEW.removed_at IS NOT NULL) EXECUTE FUNCTION note_takedown();
DROP TRIGGER images_move ON images;
CREATE TRIGGER images_move AFTER UPDATE OF private, removed_at ON all_images FOR EACH ROW
  WHEN (OLD.private <> NEW.private OR (NEW.private AND OLD.removed_at IS NULL AND NEW.removed_at IS NOT NULL))
  EXECUTE FUNCTION note_image_move();
--> statement-breakpoint
-- Each part has the indexes that readers of what has ended use; the live ones have more, for the queue.
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['generations_newest_succeeded', 'generations_newest_failed', 'generations_history', 'generations_usage',
    'generations_history_of_status', 'generations_history_of_model', 'images_private', 'images_removed', 'images_delete_at',
    'credit_ledger_user', 'usage_user'] LOOP
    EXECUTE regexp_replace(pg_get_indexdef(name::regclass), ' INDEX \w+ ON (\w+\.)?(\w+) ', format(' INDEX all_%s ON ONLY all_\2 ', name));
    EXECUTE format('ALTER INDEX all_%s ATTACH PARTITION %s', name, name);
  END LOOP;
END $$;
--> statement-breakpoint
-- The months that have tables. Whoever serves may make and fill them by these functions alone.
CREATE TABLE months (
  month     date PRIMARY KEY CHECK (month = date_trunc('month', month)),
  added_at  timestamptz NOT NULL DEFAULT now()
);
--> statement-breakpoint
CREATE FUNCTION month_of(moment timestamptz) RETURNS date LANGUAGE sql IMMUTABLE
  RETURN date_trunc('month', moment AT TIME ZONE 'UTC')::date;
--> statement-breakpoint
-- Waits for nobody's rows, and blocks nobody: the new tables are empty when they become parts. To accounts, keys and model versions
-- they have no foreign keys: with some for each month, each charge would have to look through all of them.
CREATE FUNCTION add_month(of_month date) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  suffix text := to_char(of_month, '_YYYY_MM');
  part text;
BEGIN
  IF of_month + interval '1 month' > now() THEN
    RAISE EXCEPTION 'the month of % has not ended', of_month;
  END IF;
  INSERT INTO months (month) VALUES (of_month) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  FOREACH part IN ARRAY ARRAY['generations', 'images', 'credit_ledger', 'usage', 'put_back_attempts'] LOOP
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING CONSTRAINTS INCLUDING STORAGE)', part || suffix, part);
    EXECUTE format('ALTER TABLE %I ADD PRIMARY KEY (%s)', part || suffix, (
      SELECT string_agg(quote_ident(attname), ', ' ORDER BY place)
        FROM pg_index, unnest(indkey::int2[]) WITH ORDINALITY AS key (attnum, place) JOIN pg_attribute a USING (attnum)
       WHERE indrelid = part::regclass AND indisprimary AND attrelid = indrelid));
  END LOOP;
  EXECUTE format('ALTER TABLE %I ADD UNIQUE (generation_id, idx)', 'images' || suffix);
  EXECUTE format('ALTER TABLE %I ADD UNIQUE (generation_id, kind)', 'credit_ledger' || suffix);
  -- A generation comes after what hangs on it, in the same transaction.
  FOREACH part IN ARRAY ARRAY['images', 'credit_ledger', 'usage'] LOOP
    EXECUTE format('ALTER TABLE %I ADD FOREIGN KEY (generation_id) REFERENCES %I DEFERRABLE INITIALLY DEFERRED',
      part || suffix, 'generations' || suffix);
  END LOOP;
  FOREACH part IN ARRAY ARRAY['generations', 'images', 'credit_ledger', 'usage', 'put_back_attempts'] LOOP
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES IN (%L)', 'all_' || part, part || suffix, of_month);
  END LOOP;
  RETURN true;
END $$;
--> statement-breakpoint
-- Moves these generations, as far as they have ended and nobody else has locked them, to their months with all that hangs on them.
CREATE FUNCTION move_to_months(ids text[]) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  free text[];
  moved bigint;
BEGIN
  free := ARRAY(SELECT id FROM generations WHERE id = ANY (ids) AND status IN ('succeeded', 'failed') FOR UPDATE SKIP LOCKED);
  PERFORM set_config('easel.moving', 'on', true);
  UPDATE all_images SET month = (SELECT month_of(g.created_at) FROM generations g WHERE g.id = generation_id)
   WHERE generation_id = ANY (free) AND month IS NULL;
  UPDATE all_credit_ledger SET month = (SELECT month_of(g.created_at) FROM generations g WHERE g.id = generation_id)
   WHERE generation_id = ANY (free) AND month IS NULL;
  UPDATE all_usage SET month = (SELECT month_of(g.created_at) FROM generations g WHERE g.id = generation_id)
   WHERE generation_id = ANY (free) AND month IS NULL;
  UPDATE all_put_back_attempts SET month = (SELECT month_of(g.created_at) FROM generations g WHERE g.id = generation_id)
   WHERE generation_id = ANY (free) AND month IS NULL;
  UPDATE all_generations SET month = month_of(created_at) WHERE id = ANY (free) AND month IS NULL;
  GET DIAGNOSTICS moved = ROW_COUNT;
  PERFORM set_config('easel.moving', '', true);
  RETURN moved;
END $$;
--> statement-breakpoint
REVOKE ALL ON FUNCTION add_month(date), move_to_months(text[]) FROM PUBLIC;

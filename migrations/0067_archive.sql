-- Months long past go from Postgres to files in the image store, a few generations of one account in each.
CREATE TABLE archive_files (
  id           uuid PRIMARY KEY,
  user_id      uuid NOT NULL REFERENCES users(id),
  month        date NOT NULL,
  -- Of the file, which nobody can read without it. Null: nobody is to read it any more.
  key          bytea CHECK (length(key) = 32),
  -- new: it is being written. unused: it is to be removed. lost: it could not be read, and was given up.
  status       text NOT NULL DEFAULT 'new' CHECK (status IN ('new', 'stored', 'unused', 'lost')),
  generations  integer NOT NULL DEFAULT 0,
  -- Of its generations' submits.
  oldest       timestamptz,
  newest       timestamptz,
  changed_at   timestamptz NOT NULL DEFAULT now(),
  CHECK (status IN ('unused', 'lost') OR key IS NOT NULL)
);
--> statement-breakpoint
CREATE INDEX archive_files_of_account ON archive_files (user_id, newest) WHERE status = 'stored';
CREATE INDEX archive_files_to_remove ON archive_files (changed_at) WHERE status <> 'stored';
--> statement-breakpoint
-- The generations and images that are in files, by ID and slug.
CREATE TABLE archived (
  name       text PRIMARY KEY,
  file_id    uuid NOT NULL,
  -- An image that is private or removed.
  is_hidden  boolean NOT NULL
);
--> statement-breakpoint
-- Of these accounts something was brought back, or is not to go: for some time nothing of theirs is archived.
CREATE TABLE archive_uses (
  user_id  uuid PRIMARY KEY REFERENCES users(id),
  at       timestamptz NOT NULL DEFAULT now()
);
--> statement-breakpoint
-- Charges, refunds and what was counted stay in Postgres, also of archived generations.
DO $$
DECLARE
  reference record;
BEGIN
  FOR reference IN
    SELECT conrelid::regclass AS part, conname FROM pg_constraint
     WHERE contype = 'f' AND conparentid = 0
       AND conrelid IN (SELECT relid FROM pg_partition_tree('all_credit_ledger') UNION SELECT relid FROM pg_partition_tree('all_usage'))
       AND confrelid IN (SELECT relid FROM pg_partition_tree('all_generations'))
       AND confrelid <> 'generations'::regclass LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', reference.part, reference.conname);
  END LOOP;
END $$;
--> statement-breakpoint
-- What tables of a month are missing. From the catalog itself: names are cached, also those that were not there a moment ago.
CREATE FUNCTION tables_missing(suffix text) RETURNS text[] LANGUAGE sql STABLE AS $$
  SELECT ARRAY(SELECT part FROM unnest(ARRAY['generations', 'images', 'credit_ledger', 'usage', 'put_back_attempts']) part
                WHERE NOT EXISTS (SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname = part || suffix))
$$;
--> statement-breakpoint
-- As before, and also makes what tables of a month are missing: those of an archived month have gone. Resolves to whether the
-- month is new.
CREATE OR REPLACE FUNCTION add_month(of_month date) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  suffix text := to_char(of_month, '_YYYY_MM');
  missing text[];
  part text;
  is_new boolean;
BEGIN
  IF of_month + interval '1 month' > now() THEN
    RAISE EXCEPTION 'the month of % has not ended', of_month;
  END IF;
  INSERT INTO months (month) VALUES (of_month) ON CONFLICT DO NOTHING;
  is_new := FOUND;
  IF cardinality(tables_missing(suffix)) = 0 THEN
    RETURN is_new;
  END IF;
  -- One at a time, also with whoever drops them.
  PERFORM pg_advisory_xact_lock(hashtextextended('month ' || of_month, 0));
  missing := tables_missing(suffix);
  FOREACH part IN ARRAY missing LOOP
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING CONSTRAINTS INCLUDING STORAGE)', part || suffix, part);
    EXECUTE format('ALTER TABLE %I ADD PRIMARY KEY (%s)', part || suffix, (
      SELECT string_agg(quote_ident(attname), ', ' ORDER BY place)
        FROM pg_index, unnest(indkey::int2[]) WITH ORDINALITY AS key (attnum, place) JOIN pg_attribute a USING (attnum)
       WHERE indrelid = part::regclass AND indisprimary AND attrelid = indrelid));
    IF part = 'images' THEN
      EXECUTE format('ALTER TABLE %I ADD UNIQUE (generation_id, idx)', part || suffix);
      -- A generation comes after what hangs on it, in the same transaction.
      EXECUTE format('ALTER TABLE %I ADD FOREIGN KEY (generation_id) REFERENCES %I DEFERRABLE INITIALLY DEFERRED',
        part || suffix, 'generations' || suffix);
    ELSIF part = 'credit_ledger' THEN
      EXECUTE format('ALTER TABLE %I ADD UNIQUE (generation_id, kind)', part || suffix);
    END IF;
  END LOOP;
  FOREACH part IN ARRAY missing LOOP
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES IN (%L)', 'all_' || part, part || suffix, of_month);
  END LOOP;
  RETURN is_new;
END $$;
--> statement-breakpoint
-- Drops the tables of a month whose generations are all archived, and resolves to whether it did. Readers of the past wait for a
-- tenth of a second at most.
CREATE FUNCTION drop_archived_month(of_month date) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = public, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
  suffix text := to_char(of_month, '_YYYY_MM');
  part text;
  is_empty boolean;
BEGIN
  -- One at a time, also with whoever makes them.
  PERFORM pg_advisory_xact_lock(hashtextextended('month ' || of_month, 0));
  IF 'generations' = ANY (tables_missing(suffix)) THEN
    RETURN false;
  END IF;
  EXECUTE format('SELECT NOT EXISTS (SELECT FROM %I)', 'generations' || suffix) INTO is_empty;
  IF NOT is_empty THEN
    RETURN false;
  END IF;
  -- The partitioned ones first, as readers do.
  LOCK TABLE ONLY all_generations, ONLY all_images, ONLY all_put_back_attempts IN ACCESS EXCLUSIVE MODE;
  FOREACH part IN ARRAY ARRAY['put_back_attempts', 'images', 'generations'] LOOP
    EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', part || suffix);
    -- Again: something may have been brought back.
    EXECUTE format('SELECT NOT EXISTS (SELECT FROM %I)', part || suffix) INTO is_empty;
    IF NOT is_empty THEN
      RETURN false;
    END IF;
    EXECUTE format('DROP TABLE %I', part || suffix);
  END LOOP;
  RETURN true;
END $$;
--> statement-breakpoint
-- Something is still to be done with its file, or its owner keeps it in a folder, or visitors have reported it, or it stands for a model.
CREATE FUNCTION image_is_in_use(of_slug text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM folder_images WHERE slug = of_slug)
      OR EXISTS (SELECT FROM image_moves WHERE slug = of_slug)
      OR EXISTS (SELECT FROM takedowns WHERE slug = of_slug)
      OR EXISTS (SELECT FROM image_reports WHERE slug = of_slug AND dismissed_at IS NULL)
      OR EXISTS (SELECT FROM model_versions WHERE cover = of_slug)
$$;
--> statement-breakpoint
-- What a file has: the rows of generations of one month, with their images and their attempts.
CREATE FUNCTION archive_content(ids text[], of_month date) RETURNS text LANGUAGE sql STABLE SET timezone = 'UTC' AS $$
  SELECT json_build_object(
    'generations', (SELECT coalesce(json_agg(to_json(g) ORDER BY g.created_at, g.seq), '[]')
                      FROM all_generations g WHERE g.id = ANY (ids) AND g.month = of_month),
    'images', (SELECT coalesce(json_agg(to_json(i) ORDER BY i.generation_id, i.idx), '[]')
                 FROM all_images i WHERE i.generation_id = ANY (ids) AND i.month = of_month),
    'put_back_attempts', (SELECT coalesce(json_agg(to_json(b) ORDER BY b.generation_id, b.attempt), '[]')
                            FROM all_put_back_attempts b WHERE b.generation_id = ANY (ids) AND b.month = of_month))::text
$$;
--> statement-breakpoint
-- For some time nothing of the account is archived, from when this is committed: it waits for what is being archived.
CREATE FUNCTION keep_from_archive(account uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('archive ' || account, 0));
  INSERT INTO archive_uses (user_id) VALUES (account) ON CONFLICT (user_id) DO UPDATE SET at = now();
END $$;
--> statement-breakpoint
CREATE FUNCTION is_kept_from_archive(account uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM archive_uses WHERE user_id = account AND at > now() - interval '30 days')
$$;
--> statement-breakpoint
-- Deletes rows whose file is stored, unless they have changed since it was written (`digest` is of its content) or are in use.
-- Resolves to whether it did.
CREATE FUNCTION archive_generations(file uuid, ids text[], of_month date, digest text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  account uuid;
  locked bigint;
  slugs text[];
BEGIN
  SELECT user_id INTO account FROM archive_files WHERE id = file;
  -- The lock first: whoever keeps the account from now on waits for this transaction.
  IF NOT pg_try_advisory_xact_lock(hashtextextended('archive ' || account, 0)) THEN
    RETURN false;
  END IF;
  IF is_kept_from_archive(account) THEN
    RETURN false;
  END IF;
  PERFORM FROM all_generations WHERE id = ANY (ids) AND month = of_month ORDER BY id FOR UPDATE SKIP LOCKED;
  GET DIAGNOSTICS locked = ROW_COUNT;
  IF locked <> cardinality(ids) THEN
    RETURN false;
  END IF;
  -- Whoever changes an image or puts it into a folder locks it.
  slugs := ARRAY(SELECT slug FROM all_images WHERE generation_id = ANY (ids) AND month = of_month ORDER BY slug FOR UPDATE SKIP LOCKED);
  IF md5(archive_content(ids, of_month)) <> digest
     OR cardinality(slugs) <> (SELECT count(*) FROM all_images WHERE generation_id = ANY (ids) AND month = of_month)
     OR EXISTS (SELECT FROM unnest(slugs) s (slug) WHERE image_is_in_use(s.slug)) THEN
    RETURN false;
  END IF;
  UPDATE archive_files SET (status, changed_at, generations, oldest, newest) = (
    SELECT 'stored', now(), count(*), min(created_at), max(created_at) FROM all_generations WHERE id = ANY (ids) AND month = of_month)
   WHERE id = file AND status = 'new';
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  INSERT INTO archived (name, file_id, is_hidden)
  SELECT id, file, false FROM unnest(ids) id
   UNION ALL SELECT slug, file, private OR removed_at IS NOT NULL FROM all_images WHERE slug = ANY (slugs) AND month = of_month;
  DELETE FROM all_put_back_attempts WHERE generation_id = ANY (ids) AND month = of_month;
  DELETE FROM all_images WHERE slug = ANY (slugs) AND month = of_month;
  DELETE FROM all_generations WHERE id = ANY (ids) AND month = of_month;
  RETURN true;
END $$;
--> statement-breakpoint
-- Puts the rows of a file back into the tables of its month, with those columns that they have today. Resolves to whether it did:
-- somebody else may have been quicker.
CREATE FUNCTION bring_back(file uuid, content jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  account uuid;
  of_month date;
  part text;
BEGIN
  SELECT user_id, month INTO account, of_month FROM archive_files WHERE id = file AND status = 'stored' FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  -- From here on nobody drops tables of a month.
  LOCK TABLE ONLY all_generations IN ROW EXCLUSIVE MODE;
  PERFORM add_month(of_month);
  FOREACH part IN ARRAY ARRAY['generations', 'images', 'put_back_attempts'] LOOP
    IF jsonb_array_length(content -> part) > 0 THEN
      EXECUTE (SELECT format('INSERT INTO %1$I (%2$s) SELECT %2$s FROM jsonb_populate_recordset(NULL::%1$I, $1)',
                             'all_' || part, string_agg(quote_ident(attname), ', '))
                 FROM pg_attribute WHERE attrelid = ('all_' || part)::regclass AND attnum > 0 AND NOT attisdropped
                  AND content -> part -> 0 ? attname)
        USING content -> part;
    END IF;
  END LOOP;
  DELETE FROM archived WHERE name = ANY (ARRAY(
    SELECT it ->> 'id' FROM jsonb_array_elements(content -> 'generations') it
     UNION ALL SELECT it ->> 'slug' FROM jsonb_array_elements(content -> 'images') it));
  UPDATE archive_files SET status = 'unused', key = NULL, changed_at = now() WHERE id = file;
  INSERT INTO archive_uses (user_id) VALUES (account) ON CONFLICT (user_id) DO UPDATE SET at = now();
  RETURN true;
END $$;
--> statement-breakpoint
REVOKE ALL ON FUNCTION add_month(date), drop_archived_month(date) FROM PUBLIC;

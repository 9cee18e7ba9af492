# Verifies, as the login that PGUSER names, that Postgres has the major version MAJOR, and reads the first row of the Dojo's table.
# Before the first schema Job, or after a migration of the application, there may be no such table. Exit code 3 is psql's for SQL
# that fails; a retry does not help.
export PGCONNECT_TIMEOUT=10 PGAPPNAME=dojo-verify
exec psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --set VERBOSITY=terse --set "major=$MAJOR" --file - <<'SQL'
SELECT current_setting('server_version_num')::int / 10000 = :major AS upgraded, to_regclass('weapons') IS NOT NULL AS filled \gset
\if :upgraded
\if :filled
SELECT FROM weapons LIMIT 1 \g /dev/null
\endif
\else
DO 'BEGIN RAISE EXCEPTION ''Postgres is of version %'', current_setting(''server_version''); END';
\endif
SQL

# Verifies, as the login that PGUSER names, that Postgres is of the major version MAJOR and that the Dojo's table can be read: the
# first row of it, since no pod of the application runs meanwhile. Exit code 3 is psql's for what fails, which a retry does not change.
export PGCONNECT_TIMEOUT=10 PGAPPNAME=dojo-verify
exec psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --set VERBOSITY=terse --set "major=$MAJOR" --file - <<'SQL'
SELECT current_setting('server_version_num')::int / 10000 = :major AS upgraded \gset
\if :upgraded
SELECT FROM weapons LIMIT 1 \g /dev/null
\else
DO 'BEGIN RAISE EXCEPTION ''Postgres is of version %'', current_setting(''server_version''); END';
\endif
SQL

# Gathers the statistics that pg_upgrade leaves behind, as the login that PGUSER names, of the tables that it may.
export PGCONNECT_TIMEOUT=10 PGAPPNAME=dojo-statistics PGOPTIONS='-c client_min_messages=error'
exec psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --set VERBOSITY=terse --command ANALYZE

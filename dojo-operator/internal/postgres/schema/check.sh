# Fails where Postgres does not have the database that PGDATABASE names. Exit code 3 is for what a retry does not change; 2 is psql's
# for a database that cannot be reached.
export PGCONNECT_TIMEOUT=10 PGAPPNAME=dojo-check
found=$(psql --no-psqlrc --quiet --no-align --tuples-only --dbname postgres --set ON_ERROR_STOP=1 --set VERBOSITY=terse \
	--command 'SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate ORDER BY datname') || exit $?
set -f
list=
IFS='
'
for name in $found; do
	[ "$name" != "$PGDATABASE" ] || exit 0
	list="$list${list:+, }\"$name\""
done
echo "it has the databases $list, but not \"$PGDATABASE\"" >&2
exit 3

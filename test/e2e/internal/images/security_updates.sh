# Security updates of Debian 12, a part of postgres.sh.
echo "deb http://deb.debian.org/debian-security bookworm-security main" >"$folder/etc/apt/sources.list.d/security.list"
inside apt-get -q update
inside env DEBIAN_FRONTEND=noninteractive apt-get -q -y --only-upgrade install postgresql-15 postgresql-client-15 libpq5

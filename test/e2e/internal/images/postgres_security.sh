# Makes the files of the image of postgres.sh with Debian's security updates. Arguments: an empty folder to work in, the tar file to make.
set -eu
folder=$1/root archive=$2
debootstrap --variant=minbase --include=postgresql-15,ca-certificates bookworm "$folder"
inside() { chroot "$folder" "$@"; }
echo "deb http://deb.debian.org/debian-security bookworm-security main" >"$folder/etc/apt/sources.list.d/security.list"
inside apt-get -q update
inside env DEBIAN_FRONTEND=noninteractive apt-get -q -y --only-upgrade install postgresql-15 postgresql-client-15 libpq5
inside usermod --uid 26 postgres
inside groupmod --non-unique --gid 26 postgres # Debian has a group of that number, for tapes
inside sh -c 'ln -s /usr/lib/postgresql/15/bin/* /usr/local/bin/ 2>/dev/null || true'
# What no server needs: just-in-time compilation is most of it.
rm -rf "$folder"/usr/lib/*/libLLVM* "$folder"/usr/lib/*/libz3* "$folder"/usr/lib/postgresql/15/lib/bitcode \
	"$folder"/usr/lib/postgresql/15/lib/llvmjit* "$folder"/usr/share/doc "$folder"/usr/share/man "$folder"/usr/share/locale \
	"$folder"/usr/share/perl* "$folder"/usr/share/i18n "$folder"/var/cache/apt "$folder"/var/lib/apt/lists "$folder"/var/lib/postgresql \
	"$folder"/etc/postgresql "$folder"/dev
mkdir -p "$folder/dev" "$folder/var/lib/postgresql" "$folder/run/postgresql"
chown -R 26:26 "$folder/var/lib/postgresql" "$folder/run/postgresql"
tar --create --file "$archive" --numeric-owner --one-file-system --sort=name --mtime=@0 --directory "$folder" .

# Makes the files of the image that CloudNativePG runs a Pooler with (docs/src/connection_pooling.md): PgBouncer 1.19 or newer, which Debian 12 lacks,
# and its user by the number that the pods have. Arguments: an empty folder to work in, the tar file to make.
set -eu
folder=$1/root archive=$2
debootstrap --variant=minbase --include=pgbouncer,ca-certificates trixie "$folder"
inside() { chroot "$folder" "$@"; }
inside groupadd --gid 996 --non-unique pgbouncer
inside useradd --uid 998 --non-unique --gid 996 --no-create-home pgbouncer
ln -s ../sbin/pgbouncer "$folder/usr/bin/pgbouncer"
rm -rf "$folder"/usr/share/doc "$folder"/usr/share/man "$folder"/usr/share/locale "$folder"/usr/share/perl* "$folder"/var/cache/apt \
	"$folder"/var/lib/apt/lists "$folder"/etc/pgbouncer "$folder"/dev
mkdir -p "$folder/dev"
tar --create --file "$archive" --numeric-owner --one-file-system --sort=name --mtime=@0 --directory "$folder" .

# Makes the files of a Postgres image of another major version than postgres.sh, that of Debian 13, to which CloudNativePG can upgrade: the programs of
# the former version, which it copies from that image, run in this one, so their libraries of Debian 12 are beside those of Debian 13, which have other
# names. Arguments: an empty folder to work in, the tar file to make.
set -eu
folder=$1/root former=$1/former archive=$2
debootstrap --variant=minbase --include=libicu72,libldap-2.5-0 bookworm "$former"
debootstrap --variant=minbase --include=postgresql-17,ca-certificates trixie "$folder"
inside() { chroot "$folder" "$@"; }
inside usermod --uid 26 postgres
inside groupmod --non-unique --gid 26 postgres
inside sh -c 'ln -s /usr/lib/postgresql/17/bin/* /usr/local/bin/ 2>/dev/null || true'
libraries=$(dirname "$(find "$folder"/usr/lib -name libpq.so.5 | head -1)")
for name in libicudata.so.72 libicui18n.so.72 libicuuc.so.72 libldap-2.5.so.0 liblber-2.5.so.0 libgnutls.so.30 libidn2.so.0 \
	libp11-kit.so.0 libtasn1.so.6 libunistring.so.2; do
	[ -e "$libraries/$name" ] || cp -L "$former"/usr/lib/*-linux-gnu/$name "$libraries/$name"
done
rm -rf "$folder"/usr/lib/*/libLLVM* "$folder"/usr/lib/*/libz3* "$folder"/usr/lib/postgresql/17/lib/bitcode \
	"$folder"/usr/lib/postgresql/17/lib/llvmjit* "$folder"/usr/share/doc "$folder"/usr/share/man "$folder"/usr/share/locale \
	"$folder"/usr/share/perl* "$folder"/usr/share/i18n "$folder"/var/cache/apt "$folder"/var/lib/apt/lists "$folder"/var/lib/postgresql \
	"$folder"/etc/postgresql "$folder"/dev
mkdir -p "$folder/dev" "$folder/var/lib/postgresql" "$folder/run/postgresql"
chown -R 26:26 "$folder/var/lib/postgresql" "$folder/run/postgresql"
tar --create --file "$archive" --numeric-owner --one-file-system --sort=name --mtime=@0 --directory "$folder" .

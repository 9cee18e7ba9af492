# Makes the files of the image that CloudNativePG's plugin for object stores adds to the pods of a Cluster: barman-cloud. Arguments: an empty
# folder to work in, the tar file to make.
set -eu
folder=$1/root archive=$2
debootstrap --variant=minbase --include=barman-cli-cloud,python3-boto3,ca-certificates trixie "$folder"
rm -rf "$folder"/usr/share/doc "$folder"/usr/share/man "$folder"/usr/share/locale "$folder"/usr/share/perl* "$folder"/var/cache/apt \
	"$folder"/var/lib/apt/lists "$folder"/dev
mkdir -p "$folder/dev"
tar --create --file "$archive" --numeric-owner --one-file-system --sort=name --mtime=@0 --directory "$folder" .

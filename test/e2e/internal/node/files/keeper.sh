# Waits until its standard input closes, because Stop was called or because the program that started the node ended in whatever way. Then it ends
# the node and removes what would outlive it. Arguments: the node's folder, the name of its cgroups, and
# the machine's end of the link to it. The first line of its input is the number of the node's first process.
trap '' HUP INT TERM
folder=$1 cgroup=$2 device=$3
if read -r pid; then
	while read -r _; do :; done
	kill -s KILL "$pid" 2>/dev/null
	ip link delete "$device" 2>/dev/null # its other end goes a moment later with its namespace; then the next node may start
fi
tries=0
left() {
	for root in "/sys/fs/cgroup/$cgroup" /sys/fs/cgroup/*/"$cgroup"; do
		[ ! -d "$root" ] || find "$root" -depth -type d -exec rmdir {} \; 2>/dev/null
		[ ! -d "$root" ] || return 0
	done
	! rm -rf --one-file-system -- "$folder" 2>/dev/null
}
while left; do
	tries=$((tries + 1))
	[ "$tries" -lt 200 ] || exit 1
	sleep 0.05
done

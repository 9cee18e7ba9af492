# Ends the node and removes its cgroups and its folder once standard input closes: Stop was called,
# or the starting program ended. Arguments: the node's folder, the name of its cgroups, the
# machine's end of the link. The first line of input is the pid of the node's first process.
trap '' HUP INT TERM
folder=$1 cgroup=$2 device=$3
if read -r pid; then
	while read -r _; do :; done
	kill -s KILL "$pid" 2>/dev/null
	ip link delete "$device" 2>/dev/null # its other end goes with its namespace; then the next node may start
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

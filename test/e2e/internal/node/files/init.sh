# The first process of the node. Arguments: the node's folder, its address, the machine's address,
# the name of its cgroups.
set -eu
folder=$1 address=$2 gateway=$3 cgroup=$4

# Pods see the mounts (rshared); the machine does not (rprivate).
mount --make-rprivate /
mount --make-rshared /
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mkdir -p "$folder/var" "$folder/var.work"
mount -t overlay overlay -o "lowerdir=/var,upperdir=$folder/var,workdir=$folder/var.work" /var
for part in containerd kubelet volumes; do # neither images nor data can lie on an overlay
	mkdir -p "$folder/$part" "/var/lib/$part"
	mount --bind "$folder/$part" "/var/lib/$part"
done

# A kubelet sets these for the whole machine, so it gets copies.
for key in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
	copy="$folder/sysctl.$(basename "$key")"
	cat "/proc/sys/$key" >"$copy"
	mount --bind "$copy" "/proc/sys/$key"
done

for root in /sys/fs/cgroup /sys/fs/cgroup/*/; do
	if [ -e "$root/cgroup.subtree_control" ] && [ "$root" = /sys/fs/cgroup ]; then # version 2
		sed 's/\(^\| \)/\1+/g' "$root/cgroup.controllers" >"$root/cgroup.subtree_control"
		mkdir "$root/$cgroup"
		break
	fi
	[ "$root" = /sys/fs/cgroup ] || [ -L "${root%/}" ] || mkdir "$root$cgroup"
done
# All pods together would otherwise weigh as much as one process of the machine.
for weight in "/sys/fs/cgroup/cpu/$cgroup/cpu.shares 16384" "/sys/fs/cgroup/$cgroup/cpu.weight 1600"; do
	[ ! -e "${weight% *}" ] || echo "${weight#* }" >"${weight% *}"
done

# These settings belong to the network namespace.
hostname node
read -r _ # once the machine has put eth0 into this namespace
ip link set lo up
ip address add "$address/30" dev eth0
ip link set eth0 up
ip route add default via "$gateway"
echo 1 >/proc/sys/net/ipv4/ip_forward
[ ! -e /proc/sys/net/bridge/bridge-nf-call-iptables ] || echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables

exec </dev/null
containerd --config "$folder/containerd.toml" >"$folder/logs/containerd.log" 2>&1 &
until [ -S /run/containerd/containerd.sock ]; do
	kill -0 $! # set -e: it has ended
	sleep 0.05
done
"$folder/bin/kubelet" --config="$folder/kubelet.yaml" --kubeconfig="$folder/kubelet.kubeconfig" \
	--hostname-override=node --node-ip="$address" >"$folder/logs/kubelet.log" 2>&1 &
"$folder/bin/kube-proxy" --config="$folder/kube-proxy.yaml" >"$folder/logs/kube-proxy.log" 2>&1 &
wait

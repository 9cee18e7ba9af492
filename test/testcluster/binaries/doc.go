// SPDX-License-Identifier: Apache-2.0

// Package binaries provides the programs that test clusters run: etcd, Kubernetes, kwok, and what
// real nodes and workloads need besides. It imports neither client-go nor controller-runtime, so
// that cmd/testcluster compiles in seconds.
//
//	paths, err := binaries.Locate(ctx, os.Stderr, binaries.Etcd, binaries.APIServer)
//
// The go.mod files of tools/ pin every version. Locate searches, in this order:
//
//  1. the folders that AssetsEnv and EnvtestAssetsEnv name;
//  2. the cache, jutsu/testcluster in the user's cache folder (os.UserCacheDir);
//  3. the project's official release, if downloads.txt pins the SHA-256 sum of the file;
//  4. the Go module, which is built from source.
//
// A file lock in the cache makes other processes wait, and then find the work done. Binaries appear
// in the cache by a rename, so that an interrupted process leaves no half of one.
//
// # Downloads
//
// Etcd, kwok and Kubernetes publish their binaries. All missing ones are downloaded in parallel,
// through the proxy that HTTPS_PROXY and NO_PROXY name. An interrupted download continues where it
// stopped. A download that fails in whatever way (no route, 404, no byte in five seconds, a wrong
// sum) is reported in one line, and its binary is built. So a machine without internet loses five
// seconds in all. SourceEnv chooses, MirrorEnv names a server inside a company.
//
// downloads.txt has lines in the format of sha256sum, with the URL in place of the file name:
//
//	SHA256  https://dl.k8s.io/v1.37.2/bin/linux/amd64/kube-apiserver
//
// Run `testcluster pin` after an update of tools/etcd, tools/kubernetes or tools/kwok: it writes
// the file again, from the checksums that the projects publish. A version without a line is built.
//
// # Builds
//
// The modules of all missing binaries are fetched at once. Then one `go build` per module builds
// all its missing binaries, through tools/compile, which counts packages. On few cores that is
// faster than builds in parallel.
//
// # Where to look in the code
//
// binaries.go has the table of binaries and Locate; version.go reads the pinned versions; cache.go
// locks and fills the cache; release.go has the URLs, client.go the requests and download.go the
// files; build.go builds; pin.go writes downloads.txt.
package binaries

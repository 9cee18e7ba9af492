// SPDX-License-Identifier: Apache-2.0

// Package binaries provides the programs that test clusters run: etcd, Kubernetes, kwok, and the
// programs of real nodes and workloads. It imports neither client-go nor controller-runtime, so
// that cmd/testcluster compiles in seconds.
//
//	paths, err := binaries.Locate(ctx, os.Stderr, binaries.Etcd, binaries.APIServer)
//
// The go.mod files of tools/ pin every version. Locate searches, in this order:
//
//  1. the folders that AssetsEnv and EnvtestAssetsEnv name;
//  2. the cache, jutsu/testcluster in the user's cache folder (os.UserCacheDir);
//  3. the project's official release, if downloads.txt pins the SHA-256 sum of the file;
//  4. the Go module, which it builds from source.
//
// Processes that need missing binaries wait for a file lock in the cache. The first one provides
// the binaries, and the others then find them. A rename puts a binary into the cache, so an
// interrupted process leaves no incomplete binary.
//
// # Downloads
//
// Etcd, kwok and Kubernetes publish their binaries. Locate downloads all missing ones in parallel,
// through the proxy that HTTPS_PROXY and NO_PROXY set. It resumes an interrupted download. If a
// download fails (no route, 404, no byte in five seconds, a wrong sum), Locate prints a line and
// builds the binary. A machine without internet thus loses five seconds in all. SourceEnv chooses
// between downloads and builds. MirrorEnv names a company's own server.
//
// downloads.txt has lines in the format of sha256sum, with the URL in place of the file name:
//
//	SHA256  https://dl.k8s.io/v1.37.2/bin/linux/amd64/kube-apiserver
//
// Run `testcluster pin` after an update of tools/etcd, tools/kubernetes or tools/kwok: it writes
// the file again, from the checksums that the projects publish. A binary whose version has no line
// is built.
//
// # Builds
//
// Locate fetches the modules of all missing binaries at once. Then one `go build` per module builds
// all missing binaries of the module, one module after the other. On few cores, that is faster than
// parallel builds. tools/compile runs each `go build` and reports the progress.
//
// # Where to look in the code
//
// binaries.go has the table of binaries and Locate; version.go reads the pinned versions; cache.go
// locks and fills the cache; release.go has the URLs, client.go the requests and download.go the
// files; build.go builds; pin.go writes downloads.txt.
package binaries

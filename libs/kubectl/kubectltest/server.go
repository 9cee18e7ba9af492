// SPDX-License-Identifier: Apache-2.0

// Package kubectltest is a fake API server for tests of kubectl plugins. It accepts invalid objects.
// The specs of each operator run its plugin against a real API server.
package kubectltest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/libs/kubectl"
)

// Server is a fake API server. Create it with [New].
type Server struct {
	// Logs are the logs of containers by NAMESPACE/POD/CONTAINER.
	Logs map[string]string
	// Proxy answers requests to the subresource proxy. It may be nil.
	Proxy http.HandlerFunc
	// AfterWrite is called after each write, such as "PATCH dojos/tokyo". It may call Put.
	AfterWrite func(write string)
	// Refuse returns the message of a 403, or "" to allow a write or a dry run. It may be nil.
	Refuse func(write string, dryRun bool) string
	// Lose reports whether the answer to a write gets lost. It may be nil.
	Lose func(write string) bool

	scheme  *runtime.Scheme
	kinds   []kubectl.Kind
	http    *httptest.Server
	mu      sync.Mutex
	objects map[string]*unstructured.Unstructured // the keys are URL paths
	denied  map[string]bool
	absent  map[string]bool
	used    map[string]bool
	writes  []string
	version int // the last metadata.resourceVersion of a changed object
}

// New starts a server with these kinds and objects until the end of the test.
func New(t *testing.T, scheme *runtime.Scheme, kinds []kubectl.Kind, objects ...client.Object) *Server {
	t.Helper()
	s := &Server{
		scheme: scheme, kinds: kinds,
		Logs: map[string]string{}, objects: map[string]*unstructured.Unstructured{},
		denied: map[string]bool{}, absent: map[string]bool{}, used: map[string]bool{},
	}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.http.Close)
	s.Put(objects...)
	return s
}

// Kubeconfig writes a kubeconfig for the server, with a default namespace, and returns its path.
func (s *Server) Kubeconfig(t *testing.T, namespace string) string {
	t.Helper()
	return Kubeconfig(t, s.http.URL, namespace)
}

// Kubeconfig writes a kubeconfig for the server at the URL and returns its path.
func Kubeconfig(t *testing.T, url, namespace string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: test,
clusters: [{name: test, cluster: {server: %q}}], users: [{name: test, user: {token: t}}],
contexts: [{name: test, context: {cluster: test, user: test, namespace: %q}}]}`, url, namespace)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Deny makes the server refuse rights with 403, such as "list pods" or "get pods/log".
func (s *Server) Deny(rights ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, right := range rights {
		s.denied[right] = true
	}
}

// Used lists the rights that requests have used or asked for, such as "list pods".
func (s *Server) Used() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.used))
}

// Uninstall makes the server answer 404 for resources such as "clusters.postgresql.cnpg.io".
func (s *Server) Uninstall(resources ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range resources {
		s.absent[resource] = true
	}
}

// Put creates or replaces objects.
func (s *Server) Put(objects ...client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			panic(err)
		}
		u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
		gvk, err := apiutil.GVKForObject(o, s.scheme)
		if err != nil {
			panic(err)
		}
		u.SetGroupVersionKind(gvk)
		s.store(s.pathOf(u), u)
	}
}

func (s *Server) store(path string, o *unstructured.Unstructured) {
	if s.objects[path] != nil {
		s.version++
		o.SetResourceVersion(strconv.Itoa(s.version))
	}
	s.objects[path] = o
}

// Remove deletes an object.
func (s *Server) Remove(kind kubectl.Kind, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, collection(kind, namespace)+"/"+name)
}

// Get decodes an object into a value of its Go type. It reports whether the object exists.
func (s *Server) Get(kind kubectl.Kind, namespace, name string, into any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[collection(kind, namespace)+"/"+name]
	if o == nil {
		return false
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		panic(err)
	}
	return true
}

// Writes returns the requests that have changed something, in their order.
func (s *Server) Writes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.writes)
}

func (s *Server) pathOf(o *unstructured.Unstructured) string {
	for _, k := range s.kinds {
		if k.GroupVersionKind == o.GroupVersionKind() {
			return collection(k, o.GetNamespace()) + "/" + o.GetName()
		}
	}
	panic(o.GroupVersionKind().String() + " is none of the kinds")
}

func collection(k kubectl.Kind, namespace string) string {
	path := "/apis/" + k.Group + "/" + k.Version
	if k.Group == "" {
		path = "/api/" + k.Version
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	return path + "/" + k.Plural
}

type request struct {
	kind                         kubectl.Kind
	namespace, name, subresource string
	rest                         string // path after the subresource proxy
	verb                         string
}

func (r request) resource() string {
	if r.subresource != "" {
		return r.kind.Resource() + "/" + r.subresource
	}
	return r.kind.Resource()
}

func (s *Server) parse(r *http.Request) (q request, ok bool) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	group, version := "", ""
	switch {
	case len(parts) > 2 && parts[0] == "api":
		version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, version, parts = parts[1], parts[2], parts[3:]
	default:
		return q, false
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		q.namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "", "")
	i := slices.IndexFunc(s.kinds, func(k kubectl.Kind) bool {
		return k.Group == group && k.Version == version && k.Plural == parts[0]
	})
	if i < 0 {
		return q, false
	}
	q.kind, q.name, q.subresource = s.kinds[i], parts[1], parts[2]
	q.rest = strings.Trim(strings.Join(parts[3:], "/"), "/")
	verbs := map[string]string{"GET": "get", "POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}
	if q.verb = verbs[r.Method]; q.verb == "get" && q.name == "" {
		q.verb = "list"
	}
	return q, true
}

func (s *Server) discover(w http.ResponseWriter, r *http.Request) bool {
	path := strings.Trim(r.URL.Path, "/")
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.kinds {
		if strings.Trim(strings.TrimSuffix(collection(k, ""), k.Plural), "/") != path {
			continue
		}
		list.GroupVersion = k.GroupVersion().String()
		if !s.absent[k.Resource()] {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: k.Plural, Kind: k.Kind})
		}
	}
	if list.GroupVersion == "" {
		return false
	}
	answer(w, http.StatusOK, list)
	return true
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if s.discover(w, r) {
		return
	}
	q, ok := s.parse(r)
	right := q.verb + " " + q.resource()
	s.mu.Lock()
	s.used[right] = true
	absent, denied := s.absent[q.kind.Resource()], s.denied[right]
	s.mu.Unlock()
	switch {
	case !ok || absent:
		http.Error(w, "404 page not found", http.StatusNotFound)
	case denied:
		where := fmt.Sprintf("in the namespace %q", q.namespace)
		if q.namespace == "" {
			where = "at the cluster scope"
		}
		resource := q.kind.Plural
		if q.subresource != "" {
			resource += "/" + q.subresource
		}
		fail(w, http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf(
			"%s %q is forbidden: User %q cannot %s resource %q in API group %q %s",
			q.kind.Resource(), q.name, "yuji", q.verb, resource, q.kind.Group, where))
	case q.kind == kubectl.AccessReview:
		s.review(w, r)
	case q.subresource == "log":
		s.log(w, r, q)
	case q.subresource == "proxy" && s.Proxy != nil:
		r.URL.Path = "/" + q.rest
		s.Proxy(w, r)
	case q.verb == "get":
		s.get(w, r, q)
	case q.verb == "list":
		s.list(w, r, q)
	default:
		s.write(w, r, q)
	}
}

func fail(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	answer(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reason, Message: message, //nolint:gosec // G115: a code of HTTP fits
	})
}

func answer(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value)
}

func (s *Server) review(w http.ResponseWriter, r *http.Request) {
	review := map[string]any{}
	_ = json.NewDecoder(r.Body).Decode(&review)
	a, _, _ := unstructured.NestedStringMap(review, "spec", "resourceAttributes")
	resource := a["resource"]
	if a["group"] != "" {
		resource += "." + a["group"]
	}
	if a["subresource"] != "" {
		resource += "/" + a["subresource"]
	}
	right := a["verb"] + " " + resource
	s.mu.Lock()
	s.used[right] = true
	review["status"] = map[string]any{"allowed": !s.denied[right]}
	s.mu.Unlock()
	answer(w, http.StatusCreated, review)
}

func (s *Server) log(w http.ResponseWriter, r *http.Request, q request) {
	s.mu.Lock()
	text, ok := s.Logs[q.namespace+"/"+q.name+"/"+r.URL.Query().Get("container")]
	s.mu.Unlock()
	if !ok {
		fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, "container is waiting to start")
		return
	}
	_, _ = io.WriteString(w, text)
}

func shaped(r *http.Request, o *unstructured.Unstructured) map[string]any {
	if !strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
		return o.Object
	}
	return map[string]any{
		"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": o.Object["metadata"],
	}
}

func (s *Server) get(w http.ResponseWriter, r *http.Request, q request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[collection(q.kind, q.namespace)+"/"+q.name]
	if o == nil {
		notFound(w, q)
		return
	}
	answer(w, http.StatusOK, shaped(r, o))
}

func notFound(w http.ResponseWriter, q request) {
	fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("%s %q not found", q.kind.Resource(), q.name))
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, q request) {
	by, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []any{}
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		o := s.objects[path]
		if o.GroupVersionKind() == q.kind.GroupVersionKind && by.Matches(labels.Set(o.GetLabels())) &&
			(q.namespace == "" || q.namespace == o.GetNamespace()) {
			items = append(items, shaped(r, o))
		}
	}
	answer(w, http.StatusOK, map[string]any{
		"kind": q.kind.Kind + "List", "apiVersion": q.kind.GroupVersion().String(),
		"metadata": map[string]any{}, "items": items,
	})
}

func (s *Server) refuses(w http.ResponseWriter, write string, dry bool) bool {
	if s.Refuse == nil {
		return false
	}
	message := s.Refuse(write, dry)
	if message != "" {
		fail(w, http.StatusForbidden, metav1.StatusReasonForbidden, message)
	}
	return message != ""
}

func dryRun(r *http.Request, body []byte) bool {
	var deletion metav1.DeleteOptions
	if r.Method == http.MethodDelete {
		_ = json.Unmarshal(body, &deletion)
	}
	return slices.Contains(append(r.URL.Query()["dryRun"], deletion.DryRun...), "All")
}

func (s *Server) write(w http.ResponseWriter, r *http.Request, q request) {
	body, _ := io.ReadAll(r.Body)
	dry := dryRun(r, body)
	applies := strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch")
	written := &unstructured.Unstructured{}
	if q.verb == "create" || applies {
		_ = yaml.Unmarshal(body, &written.Object)
		q.name = written.GetName()
		written.SetUID(types.UID("uid of a new " + q.kind.Kind + " " + q.name))
	}
	path, write := collection(q.kind, q.namespace)+"/"+q.name, r.Method+" "+q.kind.Plural+"/"+q.name
	if s.refuses(w, write, dry) {
		return
	}
	s.mu.Lock()
	live := s.objects[path]
	switch {
	case q.verb == "create" && live != nil:
		s.mu.Unlock()
		fail(w, http.StatusConflict, metav1.StatusReasonAlreadyExists, q.kind.Resource()+" "+q.name+" already exists")
		return
	case q.verb != "create" && !applies && live == nil:
		s.mu.Unlock()
		notFound(w, q)
		return
	case q.verb == "patch" && !applies:
		if written = patched(live, body); written.GetResourceVersion() != live.GetResourceVersion() {
			s.mu.Unlock()
			fail(w, http.StatusConflict, metav1.StatusReasonConflict, "the object has been modified; please apply your changes "+
				"to the latest version and try again")
			return
		}
	case q.verb == "delete":
		written = live
	}
	if !dry {
		if s.store(path, written); q.verb == "delete" {
			delete(s.objects, path)
		}
		s.writes = append(s.writes, write)
	}
	s.mu.Unlock()
	if !dry && s.AfterWrite != nil {
		s.AfterWrite(write)
	}
	if s.Lose != nil && s.Lose(write) {
		panic(http.ErrAbortHandler)
	}
	answer(w, http.StatusOK, written.Object)
}

func patched(live *unstructured.Unstructured, patch []byte) *unstructured.Unstructured {
	text, err := live.MarshalJSON()
	if err == nil {
		text, err = jsonpatch.MergePatch(text, patch)
	}
	next := &unstructured.Unstructured{}
	if err == nil {
		err = next.UnmarshalJSON(text)
	}
	if err != nil {
		panic(err) // the plugins send only valid merge patches
	}
	if !equality.Semantic.DeepEqual(withoutMetadata(live), withoutMetadata(next)) {
		next.SetGeneration(live.GetGeneration() + 1)
	}
	return next
}

// withoutMetadata returns the fields whose changes increment the generation.
func withoutMetadata(o *unstructured.Unstructured) map[string]any {
	fields := maps.Clone(o.Object)
	delete(fields, "metadata")
	delete(fields, "status")
	return fields
}

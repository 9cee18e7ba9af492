package manager

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// slowLeases is an API server with one Lease. What it does to the Lease takes effect, whoever hangs up meanwhile.
type slowLeases struct {
	lease coordinationv1.Lease
	lock  sync.Mutex
	// arrived gets the method of each request, which is carried out once there is something in proceed.
	arrived chan string
	proceed chan struct{}
}

func (s *slowLeases) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var written *coordinationv1.Lease
	if r.Method != http.MethodGet {
		written = &coordinationv1.Lease{}
		if err := json.NewDecoder(r.Body).Decode(written); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	s.arrived <- r.Method
	<-s.proceed
	s.lock.Lock()
	defer s.lock.Unlock()
	if written != nil {
		s.lease = *written
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.lease) // whoever asked may have hung up
}

func (s *slowLeases) holder() string {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *s.lease.Spec.HolderIdentity
}

// A process that is told to end while it takes the Lease gives it back.
func TestTheLeaseThatIsTakenAtTheEndIsGivenBack(t *testing.T) {
	t.Parallel()
	leases := &slowLeases{arrived: make(chan string), proceed: make(chan struct{})}
	leases.lease.ObjectMeta = metav1.ObjectMeta{Namespace: "default", Name: "it"}
	server := httptest.NewServer(leases)
	defer server.Close()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	elector, ended := elector(t, server.URL), make(chan struct{})
	go func() {
		defer close(ended)
		elector.Run(ctx)
	}()
	var requests []string
	for running := true; running; {
		select {
		case method := <-leases.arrived:
			requests = append(requests, method)
			if method == http.MethodPut {
				end()
			}
			leases.proceed <- struct{}{}
		case <-ended:
			running = false
		}
	}
	if holder := leases.holder(); holder != "" {
		t.Errorf("%q holds the lease after %v", holder, requests)
	}
	if !slices.Contains(requests, http.MethodPut) {
		t.Errorf("the lease was never taken: %v", requests)
	}
}

func elector(t *testing.T, url string) *leaderelection.LeaderElector {
	t.Helper()
	config := &rest.Config{Host: url, Timeout: 5 * time.Second, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}
	config.Wrap(finishLeaseWrites)
	client, err := coordinationclient.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: "it"}, Client: client, LockConfig: resourcelock.ResourceLockConfig{Identity: "me"},
		},
		LeaseDuration: time.Minute, RenewDeadline: 20 * time.Second, RetryPeriod: 10 * time.Millisecond, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return elector
}

// What is cut off with the process, and what is not.
func TestFinishLeaseWrites(t *testing.T) {
	t.Parallel()
	const leases, secrets = "/apis/coordination.k8s.io/v1/namespaces/default/leases/it", "/api/v1/namespaces/default/secrets/it"
	for name, c := range map[string]struct {
		method, path string
		deadline     time.Duration // of the request
		want         error
	}{
		"a write of a Lease ends in its own time": {http.MethodPut, leases, time.Minute, nil},
		"also behind a proxy":                     {http.MethodPut, "/clusters/tokyo" + leases, time.Minute, nil},
		"and at its deadline":                     {http.MethodPut, leases, 100 * time.Millisecond, context.DeadlineExceeded},
		"a read does not":                         {http.MethodGet, leases, time.Minute, context.Canceled},
		"nor a write of something else":           {http.MethodPut, secrets, time.Minute, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told, release := make(chan struct{}), make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				close(told)
				select {
				case <-release:
				case <-r.Context().Done():
				}
			}))
			defer server.Close()
			ctx, end := context.WithTimeout(t.Context(), c.deadline)
			defer end()
			req, err := http.NewRequestWithContext(ctx, c.method, server.URL+c.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				<-told
				end()
				if c.want == nil {
					close(release)
				}
			}()
			answer, err := finishLeaseWrites(http.DefaultTransport).RoundTrip(req)
			if err == nil {
				err = answer.Body.Close()
			}
			if !errors.Is(err, c.want) {
				t.Errorf("ends with %v, want %v", err, c.want)
			}
		})
	}
}

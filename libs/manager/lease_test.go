// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
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

type slowLeases struct {
	lease coordinationv1.Lease
	lock  sync.Mutex
	// Each request sends its method to arrived, and is executed after a value from proceed.
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
	s.lock.Lock() // keep the order of arrival
	defer s.lock.Unlock()
	<-s.proceed
	if written != nil {
		s.lease = *written
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.lease) // the client may have disconnected
}

func (s *slowLeases) holder() string {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *s.lease.Spec.HolderIdentity
}

func TestTheLeaseIsReleasedAfterACancelledRenewal(t *testing.T) {
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
	writes := 0
	for running := true; running; {
		select {
		case method := <-leases.arrived:
			requests = append(requests, method)
			if method == http.MethodPut {
				if writes++; writes == 2 { // the first write acquires the Lease
					end()
				}
			}
			leases.proceed <- struct{}{}
		case <-ended:
			running = false
		}
	}
	if holder := leases.holder(); holder != "" {
		t.Errorf("%q holds the lease after %v", holder, requests)
	}
	if writes < 3 {
		t.Errorf("acquired, renewed and released by %v", requests)
	}
}

func elector(t *testing.T, url string) *leaderelection.LeaderElector {
	t.Helper()
	config := &rest.Config{Host: url, Timeout: 5 * time.Second, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}
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

// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	streamhttp "k8s.io/streaming/pkg/httpstream"

	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/libs/kubectl"
)

const openPort = 8080

func (s *session) newOpen() *cobra.Command {
	var port uint16
	cmd := s.forDojo("open", "Reach the application from this machine",
		`Forwards a port of this machine to a ready pod behind the Dojo's Service until you press Ctrl-C. If
the pod ends, the command forwards the port to another ready pod. The command needs the rights to list pods, to get
services, and to create pods/portforward.`,
		func(ctx context.Context, name string) error { return s.open(ctx, name, port) })
	cmd.Flags().Uint16Var(&port, "port", openPort, "the `port` of this machine; 0 chooses a free port")
	return cmd
}

func (s *session) open(ctx context.Context, name string, port uint16) error {
	for lost := false; ; lost = true {
		pod, remote, err := s.behindService(ctx, name, lost)
		if err != nil {
			return err
		}
		if port, err = freePort(ctx, port); err != nil {
			return err
		}
		s.Print("http://localhost:%d leads to the pod %s of %s. Press Ctrl-C to stop forwarding.\n", port, pod, name)
		err = s.forward(ctx, pod, port, remote)
		switch {
		case errors.Is(ctx.Err(), context.Canceled):
			return nil
		case errors.Is(err, portforward.ErrLostConnectionToPod):
			s.Note("The connection to the pod %s is lost. Waiting for a ready pod.\n", pod)
		case err != nil:
			return err
		}
	}
}

func freePort(ctx context.Context, port uint16) (uint16, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("localhost", strconv.Itoa(int(port))))
	if err != nil {
		return 0, fmt.Errorf("the port %d of this machine cannot be used: name another port with --port (%w)", port, err)
	}
	defer func() { _ = listener.Close() }()
	return uint16(listener.Addr().(*net.TCPAddr).Port), nil //nolint:gosec // G115: a port fits
}

// replaced limits the wait for another ready pod after a lost connection.
const replaced = time.Minute

func (s *session) behindService(ctx context.Context, name string, wait bool) (pod string, port int32, err error) {
	if !wait {
		w, err := s.world(ctx, name)
		if err != nil {
			return "", 0, err
		}
		return readyPod(w)
	}
	var unready error
	err = s.Poll(ctx, replaced, func(ctx context.Context) (bool, error) {
		w, err := s.world(ctx, name)
		if err != nil {
			return false, err
		}
		pod, port, unready = readyPod(w)
		return unready == nil, nil
	})
	if errors.Is(err, kubectl.ErrTimeout) && unready != nil {
		err = unready
	}
	return pod, port, err
}

func readyPod(w *world.World) (pod string, port int32, err error) {
	service := world.Find[*corev1.Service](w, kinds.Service, w.Dojo.Name)
	switch {
	case w.Unreadable(kinds.Pod) || w.Unreadable(kinds.Service):
		return "", 0, fmt.Errorf("you need the rights to list pods and to get services in the namespace %s", w.Dojo.Namespace)
	case service == nil || len(service.Spec.Ports) == 0:
		return "", 0, fmt.Errorf("%s has no Service yet: %s", w.Dojo.Name, seeStatus(w.Dojo))
	}
	for i := range w.Pods {
		if p := &w.Pods[i]; world.IsReady(p) && p.DeletionTimestamp == nil {
			if port := containerPort(p, service.Spec.Ports[0].TargetPort); port > 0 {
				return p.Name, port, nil
			}
		}
	}
	return "", 0, fmt.Errorf("%s has no ready pod: %s", w.Dojo.Name, seeStatus(w.Dojo))
}

func containerPort(pod *corev1.Pod, target intstr.IntOrString) int32 {
	if target.Type == intstr.Int {
		return target.IntVal
	}
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == target.StrVal {
				return p.ContainerPort
			}
		}
	}
	return 0
}

func (s *session) forward(ctx context.Context, pod string, local uint16, remote int32) error {
	at := s.core().RESTClient().Post().Namespace(s.Namespace).Resource("pods").Name(pod).
		SubResource("portforward").URL()
	dialer, err := dialerFor(s.Config, at)
	if err != nil {
		return err
	}
	forwarder, err := portforward.NewOnAddressesForStreamingWithContext(ctx, dialer, []string{"localhost"},
		[]string{fmt.Sprintf("%d:%d", local, remote)}, make(chan struct{}), io.Discard, s.ErrOut)
	if err != nil {
		return err
	}
	return forwarder.ForwardPorts()
}

// dialerFor prefers a WebSocket and falls back to SPDY, as kubectl does.
func dialerFor(config *rest.Config, at *url.URL) (streamhttp.Dialer, error) {
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	old := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, at)
	tunnel, err := portforward.NewSPDYOverWebsocketDialerForStreaming(at, config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(tunnel, old, withoutWebsocket), nil
}

func withoutWebsocket(err error) bool {
	return streamhttp.IsUpgradeFailure(err) || streamhttp.IsHTTPSProxyError(err)
}

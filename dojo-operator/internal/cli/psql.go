// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"github.com/spf13/cobra"
	xterm "golang.org/x/term"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/view"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/dojo-operator/internal/credentials"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/kubectl"
	"jutsu.com/operators/libs/kubectl/term"
)

func (s *session) newPsql() *cobra.Command {
	var replica bool
	cmd := s.forDojo("psql", "Open psql in the database, as the application",
		`Runs psql in the pod of the primary, with the login of the application. With --replica, psql runs in the pod of a
standby, and can only read. The arguments after -- go to psql. The password is on no command line: psql gets it in its
environment. The command needs the rights to get the Secret of the Dojo, to list pods, and to create pods/exec.`, nil)
	cmd.Use = "psql NAME [-- ARGUMENTS]"
	cmd.Example = `  kubectl dojo psql sendai
  kubectl dojo psql sendai --replica -- -c 'select count(*) from weapons'`
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		dash := cmd.ArgsLenAtDash()
		if dash < 0 {
			dash = len(args)
		}
		return kubectl.Exactly(1, nameOfDojo)(cmd, args[:dash])
	}
	cmd.RunE = s.Connected(func(ctx context.Context, args []string) error {
		return s.psql(ctx, args[0], args[1:], replica)
	})
	cmd.Flags().BoolVar(&replica, "replica", false, "read from a standby")
	return cmd
}

func (s *session) psql(ctx context.Context, name string, args []string, replica bool) error {
	d, err := s.dojo(ctx, name)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: d.Namespace, Name: credentials.Name(d)}
	if d.Spec.Database == corev1api.DatabaseMongo {
		return fmt.Errorf("the database of %s is MongoDB: connect with mongosh and DB_URI of the Secret %s", name, key.Name)
	}
	if err := s.Get(ctx, key, secret); apierrors.IsNotFound(err) {
		return fmt.Errorf("%s has no credentials yet: %s", name, seeStatus(d))
	} else if err != nil {
		return err
	}
	pod, err := s.instance(ctx, d, string(secret.Data[credentials.Keys[0]]), replica)
	if err != nil {
		return err
	}
	terminal := term.IsTerminal(s.In)
	if terminal {
		s.Note("psql in the pod %s, as %s\n", pod, secret.Data["DB_USER"])
	}
	return s.runPsql(ctx, pod, secret, args, replica, terminal)
}

func (s *session) instance(ctx context.Context, d *corev1api.Dojo, host string, replica bool) (string, error) {
	cluster, err := s.clusterName(ctx, d, host)
	if err != nil {
		return "", err
	}
	role := "primary"
	if replica {
		role = "replica"
	}
	var pods corev1.PodList
	labels := client.MatchingLabels{world.ClusterLabel: cluster, world.PodRoleLabel: "instance"}
	if err := s.List(ctx, &pods, client.InNamespace(d.Namespace), labels); err != nil {
		return "", err
	}
	var states []string
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Labels[world.InstanceRoleLabel] == role && world.IsReady(pod) {
			return pod.Name, nil
		}
		states = append(states, fmt.Sprintf("%s (%s)", pod.Name, view.StateOfPod(pod, s.Now())))
	}
	if replica {
		return "", fmt.Errorf("the Cluster %s has no standby that is ready: leave --replica out", cluster)
	}
	if states == nil {
		states = []string{"none"}
	}
	return "", fmt.Errorf("the Cluster %s has no primary that is ready. Its instances: %s. "+
		"psql needs the pod of a ready primary: %s", cluster, strings.Join(states, ", "), seeStatus(d))
}

// clusterName derives the Cluster from the host in the credentials if spec.postgres is not set.
func (s *session) clusterName(ctx context.Context, d *corev1api.Dojo, host string) (string, error) {
	if name := cnpg.ClusterName(d); name != "" {
		return name, nil
	}
	name, ok := clusterIn(d.Namespace, host)
	if ok {
		err := s.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: name}, &cnpgv1.Cluster{})
		if client.IgnoreNotFound(err) != nil {
			return "", err
		}
		ok = err == nil
	}
	if !ok {
		return "", fmt.Errorf("the database of %s at %s is not in a Cluster of CloudNativePG in the namespace %s: "+
			"connect with your own psql, and with the values of the Secret %s", d.Name, host, d.Namespace, credentials.Name(d))
	}
	return name, nil
}

// clusterIn returns the Cluster of a host such as pg-rw or pg-rw.team-a.svc. It rejects hosts in
// other namespaces: a Cluster with the same name in this namespace must not get the password.
func clusterIn(namespace, host string) (name string, ok bool) {
	labels := strings.Split(host, ".")
	name, ok = strings.CutSuffix(labels[0], "-rw")
	ok = ok && (len(labels) == 1 || labels[1] == namespace) && (len(labels) < 3 || labels[2] == "svc")
	return name, ok
}

func psqlCommand(secret *corev1.Secret, args []string, replica bool) []string {
	options := ""
	if replica {
		options = "-c default_transaction_read_only=on"
	}
	command := []string{
		"env", "PGHOST=localhost", "PGPORT=5432", "PGAPPNAME=" + fieldOwner, "PSQL_HISTORY=/dev/null",
		"PGDATABASE=" + string(secret.Data["DB_NAME"]), "PGUSER=" + string(secret.Data["DB_USER"]), "PGOPTIONS=" + options,
		"sh", "-c", psqlScript, "psql",
	}
	return append(command, args...)
}

func (s *session) runPsql(
	ctx context.Context, pod string, secret *corev1.Secret, args []string, replica, terminal bool,
) error {
	request := s.core().RESTClient().Post().Namespace(s.Namespace).Resource("pods").Name(pod).
		SubResource("exec").VersionedParams(&corev1.PodExecOptions{
		Container: postgresContainer, Command: psqlCommand(secret, args, replica),
		Stdin: true, Stdout: true, Stderr: !terminal, TTY: terminal,
	}, scheme.ParameterCodec)
	executor, err := s.executor(request.URL())
	if err != nil {
		return err
	}
	hand := newHandshake(string(secret.Data["DB_PASS"]), s.In, s.Out)
	options := remotecommand.StreamOptions{Stdin: hand, Stdout: hand, Tty: terminal}
	if terminal {
		restore, queue, err := raw(ctx, s.In)
		if err != nil {
			return err
		}
		defer restore()
		options.TerminalSizeQueue = queue
	} else {
		options.Stderr = s.ErrOut
	}
	return ended(executor.StreamWithContext(ctx, options))
}

func (s *session) executor(at *url.URL) (remotecommand.Executor, error) {
	old, err := remotecommand.NewSPDYExecutor(s.Config, http.MethodPost, at)
	if err != nil {
		return nil, err
	}
	sockets, err := remotecommand.NewWebSocketExecutor(s.Config, http.MethodGet, at.String())
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(sockets, old, withoutWebsocket)
}

// ended returns psql's exit code as an error. psql itself has printed the cause.
func ended(err error) error {
	var exit utilexec.CodeExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("psql has ended with the code %d", exit.Code)
	}
	return err
}

type windowSizes chan remotecommand.TerminalSize

// Next implements [remotecommand.TerminalSizeQueue].
func (s windowSizes) Next() *remotecommand.TerminalSize {
	size, ok := <-s
	if !ok {
		return nil
	}
	return &size
}

// raw puts the user's terminal into raw mode, because the terminal in the pod handles editing.
func raw(ctx context.Context, in any) (restore func(), queue windowSizes, err error) {
	fd := int(in.(*os.File).Fd())
	before, err := xterm.MakeRaw(fd)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	queue = make(windowSizes, 1)
	go func() { // polls, because not every operating system signals a new size
		defer close(queue)
		var last remotecommand.TerminalSize
		for {
			if width, height, err := xterm.GetSize(fd); err == nil {
				size := remotecommand.TerminalSize{Width: uint16(width), Height: uint16(height)} //nolint:gosec // G115
				if size != last {
					last = size
					select {
					case queue <- size:
					case <-ctx.Done():
						return
					}
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(sizeInterval):
			}
		}
	}()
	return func() {
		cancel()
		_ = xterm.Restore(fd, before)
	}, queue, nil
}

const sizeInterval = 250 * time.Millisecond

// psqlScript reads a password from standard input, and passes it to psql in the environment. stty
// hides the input before the marker requests the password, and shows the input again for psql.
const psqlScript = `stty -echo 2>/dev/null
printf '\001'
IFS= read -r PGPASSWORD || exit 1
stty echo 2>/dev/null
export PGPASSWORD
exec psql "$@"`

// marker is the byte that psqlScript prints when it can read the password.
const marker = 0x01

// handshake sends the password over standard input, so that no command line, process list or audit
// log of the API server shows it.
type handshake struct {
	in    io.Reader // the password, then the user's input
	out   io.Writer
	ready chan struct{}
}

func newHandshake(password string, in io.Reader, out io.Writer) *handshake {
	return &handshake{io.MultiReader(strings.NewReader(password+"\n"), in), out, make(chan struct{})}
}

func (h *handshake) Read(p []byte) (int, error) {
	<-h.ready
	return h.in.Read(p)
}

func (h *handshake) Write(p []byte) (int, error) {
	rest := p
	select {
	case <-h.ready:
	default:
		if i := bytes.IndexByte(p, marker); i >= 0 {
			rest = append(bytes.Clone(p[:i]), p[i+1:]...)
			close(h.ready)
		}
	}
	if _, err := h.out.Write(rest); err != nil {
		return 0, err
	}
	return len(p), nil
}

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/libs/testcluster"
	"jutsu.com/operators/test/internal/operator"
)

// usage is the memory of one process of the operator, in bytes.
type usage struct {
	rssBytes, peakBytes float64 // what the system gives it, now and at most
	heapBytes           float64 // what it holds on to
}

func (u usage) rss() float64  { return u.rssBytes }
func (u usage) peak() float64 { return u.peakBytes }
func (u usage) heap() float64 { return u.heapBytes }

func (s *stage) usage(ctx context.Context, p *operator.Process) (usage, error) {
	u := usage{}
	u.rssBytes, u.peakBytes = residentBytes(p.PID()) // first: to be asked for metrics costs memory
	var err error
	u.heapBytes, err = s.liveHeap(ctx, p)
	return u, err
}

// residentBytes is the resident memory of a process, now and at most; 0 on systems without /proc.
func residentBytes(pid int) (now, peak float64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	return statusBytes(string(text), "VmRSS"), statusBytes(string(text), "VmHWM")
}

// statusBytes finds a line such as "VmRSS:	   56272 kB".
func statusBytes(status, name string) float64 {
	lines := bufio.NewScanner(strings.NewReader(status))
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), name+":"); ok {
			kibibytes, _ := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 64)
			return kibibytes * kib
		}
	}
	return 0
}

// cpuSeconds is the processor time that a process has used; 0 on systems without /proc.
func cpuSeconds(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return statSeconds(string(text))
}

// apiServerPID finds the stage's API server among all processes; 0 on systems without /proc.
func (s *stage) apiServerPID() int {
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is lawful
	for _, command := range commands {
		text, err := os.ReadFile(command)
		if err != nil {
			continue // it has ended meanwhile
		}
		program, arguments, _ := strings.Cut(string(text), "\x00")
		if filepath.Base(program) == testcluster.APIServer && strings.Contains(arguments, s.cluster.Dir()+"/") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(command)))
			return pid
		}
	}
	return 0
}

// statSeconds adds utime and stime, the 14th and 15th field of proc_pid_stat(5), of which the second is a name in brackets that
// may hold anything.
func statSeconds(stat string) float64 {
	const ticksPerSecond = 100 // USER_HZ, the same on every architecture that Go runs on
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticksPerSecond
}

// Metrics of the Go runtime as controller-runtime serves them.
const (
	metricLiveHeap = "go_gc_heap_live_bytes"
	metricCycles   = "go_gc_cycles_total_gc_cycles_total"
)

// liveHeap is what the last two garbage collections could not free. To serve metrics makes garbage, so asking long enough
// brings a collection about.
func (s *stage) liveHeap(ctx context.Context, p *operator.Process) (float64, error) {
	scrape, err := s.scraper(ctx, p)
	if err != nil {
		return 0, err
	}
	first, err := scrape()
	if err != nil {
		return 0, err
	}
	var last map[string]float64
	err = until(ctx, func() (bool, error) {
		last, err = scrape()
		return last[metricCycles] >= first[metricCycles]+2, err
	})
	if err == nil && last[metricLiveHeap] == 0 {
		err = fmt.Errorf("the operator does not tell %s", metricLiveHeap)
	}
	return last[metricLiveHeap], err
}

// scraper returns a function that asks the operator for its metrics, as the ServiceAccount of a Prometheus would: those that
// are one number.
func (s *stage) scraper(ctx context.Context, p *operator.Process) (func() (map[string]float64, error), error) {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-metrics"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: s.operator.Name + "-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "default"}},
	}
	if err := s.admin.Create(ctx, binding); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	config, err := s.cluster.ServiceAccountConfig(ctx, namespace, "default")
	if err != nil {
		return nil, err
	}
	selfSigned := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // our own process
	http := &http.Client{Transport: selfSigned, Timeout: 10 * time.Second}
	return func() (map[string]float64, error) { return scrape(ctx, http, p.MetricsURL(), config.BearerToken) }, nil
}

func scrape(ctx context.Context, client *http.Client, url, token string) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	values := map[string]float64{}
	for name, family := range families {
		if len(family.Metric) == 1 {
			values[name] = valueOf(family.Metric[0])
		}
	}
	return values, nil
}

func valueOf(m *dto.Metric) float64 { return m.GetGauge().GetValue() + m.GetCounter().GetValue() }

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster"
	program "jutsu.com/operators/test/testcluster/process"
)

// client-go derives the user agent from this name.
const referenceName = "reference"

type reference struct{ folder string }

func (r reference) main() (string, error) {
	for _, folder := range []string{filepath.Join(r.folder, "cmd"), r.folder} {
		if _, err := os.Stat(filepath.Join(folder, "main.go")); err == nil {
			return folder, nil
		}
	}
	return "", fmt.Errorf("--reference: neither cmd/main.go nor main.go is in %s, the layout of kubebuilder", r.folder)
}

func (r reference) crds() (string, error) {
	folder := filepath.Join(r.folder, "config", "crd", "bases")
	if _, err := os.Stat(folder); err != nil {
		return "", fmt.Errorf("--reference: its kinds are not in config/crd/bases, the layout of kubebuilder: %w", err)
	}
	return folder, nil
}

func (r reference) build(ctx context.Context, binary string) error {
	from, err := r.main()
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, ".")
	command.Dir = from
	command.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build the operator in %s: %w: %s", from, err, bytes.TrimSpace(out))
	}
	return nil
}

func (b *bench) withReference(ctx context.Context, n int) error {
	other := reference{b.reference}
	crds, err := other.crds()
	if err != nil {
		return err
	}
	return b.onStage(ctx, environment.Operator{Name: referenceName}, nil, func(s *stage) {
		s.scenario = referenceName
		its := sheet{&report{}, scenarioLoad, n}
		b.loadReference(ctx, s, other, its)
		ours := sheet{b.report, scenarioLoad, n}
		for _, f := range its.report.Figures {
			if beside := ours.find(f.Name); beside != nil {
				beside.Reference = &f.Value
			}
		}
	}, func(o *environment.Options) {
		o.Operators, o.Cluster.CRDs = nil, []string{crds}
	})
}

func (b *bench) loadReference(ctx context.Context, s *stage, other reference, at sheet) {
	b.say("%s: building the operator in %s", referenceName, other.folder)
	binary := filepath.Join(must(filepath.Abs(s.logs)), referenceName)
	check(other.build(ctx, binary))
	check(s.Admin.Create(ctx, credentials("first")))
	p := s.startReference(ctx, binary)
	defer func() { _ = p.Stop(environment.Grace) }()
	moment := time.Now()
	b.createDojos(ctx, s, at, available)
	addLastChild(s, at, moment)
	addRequests(s, at, moment, requiredWrites{})
	addResident(at, p)
}

func (s *stage) startReference(ctx context.Context, binary string) *process {
	probes := must(testcluster.FreeAddress(ctx))
	command := exec.Command(binary, "--metrics-bind-address=0", "--health-probe-bind-address="+probes)
	command.Env = append(os.Environ(), "KUBECONFIG="+s.Cluster.Kubeconfig())
	started := must(program.Start(referenceName, filepath.Join(s.logs, referenceName+".log"), command, nil))
	p := &process{Process: &environment.Process{Process: started}}
	s.processes = append(s.processes, p)
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	check(p.Await(ctx, func(ctx context.Context) error {
		return program.Serves(ctx, http.DefaultClient, "http://"+probes+"/readyz")
	}))
	return p
}

// available: the other operator's condition may lack a generation.
func available(o client.Object) bool {
	return meta.IsStatusConditionTrue(o.(*corev1api.Dojo).Status.Conditions, conditions.TypeAvailable)
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// one returns the median seconds until a new Dojo is Ready in a cluster with other Dojos.
func (b *bench) one(ctx context.Context, s *stage, beside int) float64 {
	b.say("%s: creating %d Dojos one after the other, beside %d", s.scenario, b.repeat, beside)
	return b.single(ctx, s, "one", &corev1api.Dojo{}, ready, func(name string) []client.Object {
		d := dojo(0)
		d.Name = name
		return []client.Object{d}
	})
}

func (b *bench) oneDirect(ctx context.Context, s *stage) float64 {
	b.say("%s: creating the children of %d Dojos without the operator", s.scenario, b.repeat)
	made := childrenOf(ctx, s, 1)[0]
	return b.single(ctx, s, "direct", &appsv1.Deployment{}, rolledOut, func(name string) []client.Object {
		return []client.Object{renamed(made.secret, name), renamed(made.deployment, name), renamed(made.service, name)}
	})
}

func (b *bench) oneBeside(ctx context.Context, s *stage, at sheet) {
	at.addAgainst(s.alone, "one more Dojo: created to Ready", b.one(ctx, s, at.n), "s")
	at.add("its children, made directly: created to available", b.oneDirect(ctx, s), "s")
}

// single creates the objects of made, and returns the median seconds until done accepts the object
// that has the type of kind.
func (b *bench) single(ctx context.Context, s *stage, prefix string, kind client.Object,
	done func(client.Object) bool, made func(name string) []client.Object) float64 {
	var took []float64
	for i := range b.repeat {
		name := fmt.Sprintf("%s-%d", prefix, i)
		objects := made(name)
		s.awaitQuiet(ctx, b.quiet)
		watch := newStopwatch(ctx, s, kind, 1, func(o client.Object) bool { return o.GetName() == name && done(o) })
		moment := time.Now()
		for _, o := range objects {
			check(s.Admin.Create(ctx, o))
		}
		took = append(took, watch.await(ctx)[name].Sub(moment).Seconds())
		for _, o := range objects {
			check(s.Admin.Delete(ctx, o))
		}
	}
	s.awaitQuiet(ctx, b.quiet)
	return quantile(took, 0.5)
}

func renamed[O client.Object](child O, name string) O {
	text := must(json.Marshal(child))
	var other O
	check(json.Unmarshal([]byte(strings.ReplaceAll(string(text), dojo(0).Name, name)), &other))
	return other
}

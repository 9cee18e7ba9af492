// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/environment"
)

// leaving is the time limit of leaveDiscord. It is long, because the operator may first have to
// recover a create with a lost response.
const leaving = time.Minute

// leaveDiscord deletes the resources of this run on Discord, except the server, adopted resources
// and resources with the deletionPolicy Retain. Its error lists the resources that it could not
// delete, because the program has no other record of them.
func (s *sandbox) leaveDiscord(out *os.File) error {
	if !s.options.realDiscord() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaving)
	defer cancel()
	if dojo := s.processes[0]; dojo != nil {
		_ = dojo.Stop(environment.Grace) // dojo-operator would recreate the Dojos' channels
	}
	objects, err := s.onDiscord(ctx)
	if err != nil {
		return fmt.Errorf("it is unknown what this run has left on Discord; look at the server there: %w", err)
	}
	deleted, kept := byPolicy(objects)
	if len(objects) == 0 {
		return nil
	}
	say(out, "Deleting what this run has created on Discord (a second Ctrl-C would leave it there): %s ...",
		orNothing(deleted))
	if len(kept) > 0 {
		say(out, "Retained on Discord, because of spec.adopt or the deletionPolicy Retain: %s.",
			strings.Join(kept, ", "))
	}
	left, err := s.deleteAll(ctx, objects)
	if stuck, _ := byPolicy(left); len(stuck) > 0 {
		return errors.Join(err, fmt.Errorf("LEFT ON DISCORD, delete it there by hand: %s%s", strings.Join(stuck, ", "),
			whys(left)))
	}
	return err
}

// onDiscord lists the objects of Discord kinds, dependent objects first.
func (s *sandbox) onDiscord(ctx context.Context) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	for _, kind := range slices.Backward(discordKinds) {
		objects, err := s.list(ctx, kind)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}

// byPolicy names the Discord resources that the operator deletes or keeps.
func byPolicy(objects []unstructured.Unstructured) (deleted, kept []string) {
	for i := range objects {
		o := &objects[i]
		switch {
		// A Discord server always stays. An object without id and finalizer has no resource.
		case o.GetKind() == serverKind.Kind, idOf(o) == "" && len(o.GetFinalizers()) == 0:
		case retained(o):
			kept = append(kept, onDiscordAs(o))
		default:
			deleted = append(deleted, onDiscordAs(o))
		}
	}
	return deleted, kept
}

// retained reports whether the object's resource remains on Discord. An adopted resource remains,
// because delete sets the deletionPolicy to Retain.
func retained(o *unstructured.Unstructured) bool {
	policy, _, _ := unstructured.NestedString(o.Object, "spec", "deletionPolicy")
	return policy == "Retain" || adopted(o)
}

func adopted(o *unstructured.Unstructured) bool {
	_, found, _ := unstructured.NestedMap(o.Object, "spec", "adopt")
	return found
}

// onDiscordAs names a resource in the terms of Discord, such as: category "Alerts".
func onDiscordAs(o *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(o.Object, "spec", "name")
	where, _, _ := unstructured.NestedString(o.Object, "status", "channelURL")
	switch {
	case o.GetKind() == groupKind.Kind:
		return fmt.Sprintf("category %q", name)
	case o.GetKind() == roleKind.Kind:
		return fmt.Sprintf("role %q", name)
	case where == "":
		return "#" + name
	}
	return fmt.Sprintf("#%s (%s)", name, where)
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

func whys(objects []unstructured.Unstructured) string {
	var text strings.Builder
	for i := range objects {
		text.WriteString("\n" + rowOf(&objects[i]).line())
	}
	return text.String()
}

// deleteAll deletes the objects. It waits until only Degraded objects remain, the operator exits or
// ctx is done, and returns the remaining objects.
func (s *sandbox) deleteAll(ctx context.Context, objects []unstructured.Unstructured) ([]unstructured.Unstructured,
	error) {
	var failed error
	for i := range objects {
		failed = errors.Join(failed, s.delete(ctx, &objects[i]))
	}
	left := objects // if the first read fails, all objects count as remaining
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	for {
		now, err := s.onDiscord(ctx)
		if err != nil {
			return left, errors.Join(failed, err)
		}
		left = now
		if len(left) == 0 || !slices.ContainsFunc(left, canBeDeleted) {
			return left, failed
		}
		select {
		case <-exited(s.processes[1]):
			return left, failed
		case <-ctx.Done():
			return left, failed
		case <-tick.C:
		}
	}
}

// delete deletes an object. On Discord, servers and all adopted resources stay.
func (s *sandbox) delete(ctx context.Context, o *unstructured.Unstructured) error {
	if adopted(o) || o.GetKind() == serverKind.Kind {
		retain := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"deletionPolicy":"Retain"}}`))
		if err := client.IgnoreNotFound(s.Admin.Patch(ctx, o.DeepCopy(), retain)); err != nil {
			return fmt.Errorf("keep %s on Discord: %w", nameOf(o), err)
		}
	}
	if err := client.IgnoreNotFound(s.Admin.Delete(ctx, o)); err != nil {
		return fmt.Errorf("delete %s: %w", nameOf(o), err)
	}
	return nil
}

// exited returns nil for a process that was not started. A receive from a nil channel blocks
// forever.
func exited(p *environment.Process) <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.Exited()
}

func canBeDeleted(o unstructured.Unstructured) bool { return rowOf(&o).degraded != "True" }

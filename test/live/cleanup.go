// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
)

const cleanupTime = 2 * time.Minute

var errIncomplete = errors.New("the clean-up is not complete")

// cleanUp removes all objects of the run from Discord, also if the response to a create was lost.
func cleanUp(ctx context.Context, b *bot, own *territory) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	found, errs := remaining(ctx, b, own)
	// The newest objects are deleted first, so the category after its channels.
	for _, id := range own.all() {
		if path, ok := found[id]; ok {
			r, err := b.do(ctx, http.MethodDelete, path, nil)
			if err == nil && !r.ok() && r.status != http.StatusNotFound {
				err = fmt.Errorf("DELETE %s: status %d", path, r.status)
			}
			errs = errors.Join(errs, err)
		}
	}
	found, err := remaining(ctx, b, own)
	if errs = errors.Join(errs, err); len(found) > 0 || errs != nil {
		var left []string
		for id := range found {
			name, _ := own.own(id)
			left = append(left, name+" ("+id+")")
		}
		return errors.Join(fmt.Errorf("%w. Delete by hand the objects whose names begin with %s: %s", errIncomplete,
			own.prefix, strings.Join(left, ", ")), errs)
	}
	return nil
}

var ofARun = regexp.MustCompile(`^jutsu-live-[0-9a-f]{8}(-|$)`)

// leftovers lists the objects in a server with names like the names in a run, each as "name (id)".
// Earlier runs have left these objects, unless another run is in progress.
func leftovers(ctx context.Context, b *bot, guild string) (found []string, errs error) {
	for _, list := range []string{"channels", "roles"} {
		r, err := b.do(ctx, http.MethodGet, "/guilds/"+guild+"/"+list, nil)
		errs = errors.Join(errs, err)
		elements, _ := r.body.([]any)
		for _, element := range elements {
			if name := text(asObject(element), "name"); ofARun.MatchString(name) {
				found = append(found, name+" ("+text(asObject(element), "id")+")")
			}
		}
	}
	return found, errs
}

// remaining maps the ids of the run's existing objects to API paths. Its reads go through the
// proxy, which adds missing objects of the run to the territory.
func remaining(ctx context.Context, b *bot, own *territory) (map[string]string, error) {
	found := map[string]string{}
	var errs error
	guild := "/guilds/" + own.guild
	for list, path := range map[string]string{guild + "/channels": "/channels/", guild + "/roles": guild + "/roles/"} {
		r, err := b.do(ctx, http.MethodGet, list, nil)
		if err == nil && !r.ok() {
			err = fmt.Errorf("GET %s: status %d", list, r.status)
		}
		errs = errors.Join(errs, err)
		elements, _ := r.body.([]any)
		for _, element := range own.ownElements(elements) {
			id := text(asObject(element), "id")
			found[id] = path + id
		}
	}
	return found, errs
}

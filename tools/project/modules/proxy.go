// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"jutsu.com/operators/tools/project/git"
	"jutsu.com/operators/tools/project/location"
)

// Proxy writes the tagged modules into a folder for GOPROXY=file://FOLDER and counts them.
func Proxy(ctx context.Context, c git.Clone, l location.Location, folder string) (n int, err error) {
	tags, err := c.Lines(ctx, "tag", "--list", "*/v*")
	if err != nil {
		return 0, err
	}
	for _, tag := range tags {
		at, version := path.Split(tag)
		if at = strings.TrimSuffix(at, "/"); !semver.IsValid(version) {
			continue
		}
		of := module.Version{Path: l.Module(at), Version: version}
		if err := proxyOne(ctx, c, of, tag, at, folder); err != nil {
			return n, fmt.Errorf("serve %s: %w", tag, err)
		}
		n++
	}
	return n, nil
}

func proxyOne(ctx context.Context, c git.Clone, of module.Version, tag, at, folder string) error {
	mod, err := c.Run(ctx, "cat-file", "blob", tag+":"+at+"/go.mod")
	if err != nil {
		return err
	}
	seconds, err := c.Run(ctx, "log", "-1", "--format=%cI", tag)
	if err != nil {
		return err
	}
	when, err := time.Parse(time.RFC3339, seconds)
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": of.Version, "Time": when.UTC()})
	if err != nil {
		return err
	}
	escaped, err := module.EscapePath(of.Path)
	if err != nil {
		return err
	}
	into := filepath.Join(folder, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	list, err := os.OpenFile(filepath.Join(into, "list"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(list, of.Version)
	if closing := list.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	for file, text := range map[string]string{of.Version + ".info": string(info), of.Version + ".mod": mod + "\n"} {
		if err := os.WriteFile(filepath.Join(into, file), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return archive(filepath.Join(into, of.Version+".zip"), of, c.Root, tag, at)
}

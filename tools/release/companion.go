// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// companion is a second image of an operator. The operator's flag Flag names the image.
type companion struct{ Program, Flag, Description string }

var companions = map[string]companion{
	"dojo-operator": {
		Program: "dojo-migrate", Flag: "migrate-image", Description: "Applies the migrations of a Dojo's database",
	},
}

// withCompanion omits a companion if the checkout lacks its program, as the checkout of a former
// release may.
func (o imageOptions) withCompanion() ([]imageOptions, error) {
	all := []imageOptions{o}
	second, ok := companions[o.Operator]
	if !ok {
		return all, nil
	}
	_, err := os.Stat(filepath.Join(o.Root, o.Operator, "cmd", second.Program))
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	other := o
	other.Program = second.Program
	return append(all, other), err
}

func (o imageOptions) flags() map[string]string {
	flags := map[string]string{}
	if o.Companion != "" {
		flags[companions[o.Operator].Flag] = o.Companion
	}
	return flags
}

type namedImage struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

func (o imageOptions) images(reference string) []namedImage {
	all := []namedImage{{o.Operator, reference}}
	if o.Companion != "" {
		all = append(all, namedImage{companions[o.Operator].Program, o.Companion})
	}
	return all
}

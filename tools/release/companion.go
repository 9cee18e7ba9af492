// SPDX-License-Identifier: Apache-2.0

package main

// companion is a second image of an operator, of the same version. Its pods run it, not the
// operator's; a flag of the operator names it.
type companion struct{ Program, Flag, Description string }

var companions = map[string]companion{
	"dojo-operator": {
		Program: "dojo-migrate", Flag: "migrate-image", Description: "Applies the migrations of a Dojo's database",
	},
}

// withCompanion returns the options of an operator's image with those of its companion, if it has one.
func (o imageOptions) withCompanion() []imageOptions {
	all := []imageOptions{o}
	if second, ok := companions[o.Operator]; ok {
		other := o
		other.Program = second.Program
		all = append(all, other)
	}
	return all
}

// flags are those of a released operator, by name.
func (o imageOptions) flags() map[string]string {
	if o.Companion == "" {
		return nil
	}
	return map[string]string{companions[o.Operator].Flag: o.Companion}
}

package stack

import (
	"context"
	"path"

	"jutsu.com/operators/test/e2e/internal/images"
)

// Programs of this project by the folder of their package main, which is what Stack.Images names them by.
const (
	DojoOperator    = "dojo-operator"
	DiscordOperator = "discord-operator"
	DojoApp         = "test/e2e/programs/dojo"
	NextDojoApp     = DojoApp + ", next version" // the same in another image
	Visitor         = "test/e2e/programs/visitor"
	discordtest     = "libs/discordclient/discordtest/cmd/discordtest"
)

// pushPrograms builds images of all programs and pushes them.
func pushPrograms(ctx context.Context, registry, folder string) (map[string]string, error) {
	programs, err := images.Compile(ctx, folder, DojoOperator, DiscordOperator, DojoApp, Visitor, discordtest)
	if err != nil {
		return nil, err
	}
	pushed := map[string]string{}
	for source, binary := range programs {
		name := "/" + path.Base(source)
		image := images.Image{Name: "jutsu-e2e" + name + ":e2e", Files: map[string]string{name: binary}, Entrypoint: []string{name}}
		if pushed[source], err = image.Push(registry); err != nil {
			return nil, err
		}
	}
	next := images.Image{
		Name: "jutsu-e2e/dojo:next", Files: map[string]string{"/dojo": programs[DojoApp], "/next": "-> dojo"}, Entrypoint: []string{"/next"},
	}
	pushed[NextDojoApp], err = next.Push(registry)
	return pushed, err
}

// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// The icon has an edit of its own, so that a refused icon does not block the other fields.
const iconField = "icon"

const animatedIcons = "ANIMATED_ICON"

// Icon is the image that a spec names.
type Icon struct {
	Hash     string            // the image's hash; empty if the image cannot be used
	Animated bool              // whether the image has several frames
	Issue    *conditions.Issue // why the image cannot be used; nil if it can

	version string // identifies the version of the ConfigMap and the key in it
	dataURI string // empty if only the Hash is cached
}

// icons caches the hash of each server's image. The operator reads an image again only to upload
// it, or after a change of its ConfigMap or key.
type icons struct {
	mu    sync.Mutex
	known map[types.NamespacedName]Icon
}

func (i *icons) get(server types.NamespacedName) Icon {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.known[server]
}

func (i *icons) keep(server types.NamespacedName, icon Icon) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if icon.dataURI = ""; icon.version == "" {
		delete(i.known, server)
		return
	}
	if i.known == nil {
		i.known = map[types.NamespacedName]Icon{}
	}
	i.known[server] = icon
}

func (r *Reconciler) observeIcon(ctx context.Context, server *v1alpha1.DiscordServer) (Icon, error) {
	key := client.ObjectKeyFromObject(server)
	if server.Spec.Icon == nil {
		r.icons.keep(key, Icon{})
		return Icon{}, nil
	}
	ref := server.Spec.Icon.ConfigMapKeyRef
	name, metadata := types.NamespacedName{Namespace: server.Namespace, Name: ref.Name}, apply.Metadata("v1", "ConfigMap")
	if err := r.Client.Get(ctx, name, metadata); apierrors.IsNotFound(err) {
		return Icon{Issue: iconNotFound(server)}, nil
	} else if err != nil {
		return Icon{}, fmt.Errorf("get ConfigMap %s: %w", name, err)
	}
	if known := r.icons.get(key); known.version == iconVersion(metadata, ref.Key) {
		return known, nil
	}
	return r.readIcon(ctx, server)
}

func (r *Reconciler) readIcon(ctx context.Context, server *v1alpha1.DiscordServer) (Icon, error) {
	icon, err := ReadIcon(ctx, r.Live, server)
	if err == nil {
		r.icons.keep(client.ObjectKeyFromObject(server), icon)
	}
	return icon, err
}

func iconVersion(o metav1.Object, key string) string {
	return fmt.Sprintf("%s/%s/%s", o.GetUID(), o.GetResourceVersion(), key)
}

// ReadIcon reads the image that a server's spec names.
func ReadIcon(ctx context.Context, objects client.Reader, server *v1alpha1.DiscordServer) (Icon, error) {
	ref := server.Spec.Icon.ConfigMapKeyRef
	var cm corev1.ConfigMap
	err := objects.Get(ctx, types.NamespacedName{Namespace: server.Namespace, Name: ref.Name}, &cm)
	if apierrors.IsNotFound(err) {
		return Icon{Issue: iconNotFound(server)}, nil
	} else if err != nil {
		return Icon{}, fmt.Errorf("read ConfigMap %s: %w", ref.Name, err)
	}
	icon := Icon{version: iconVersion(&cm, ref.Key)}
	image, exists := cm.BinaryData[ref.Key]
	_, text := cm.Data[ref.Key]
	switch format, animated, why := inspect(image); {
	case text:
		icon.Issue = iconUnusable(server, "is in data, which is for text. Put the image into binaryData, "+
			"as kubectl create configmap --from-file does")
	case !exists:
		icon.Issue = conditions.Degraded(v1alpha1.ReasonIconNotFound,
			"ConfigMap %s of spec.icon has no key %q in binaryData. Add the image under that key, or name another key in "+
				"spec.icon.", ref.Name, ref.Key)
	case why != "":
		icon.Issue = iconUnusable(server, why)
	default:
		sum := sha256.Sum256(image)
		icon.Hash, icon.Animated = "sha256:"+hex.EncodeToString(sum[:]), animated
		icon.dataURI = discordclient.DataURI(format, image)
	}
	return icon, nil
}

func iconNotFound(server *v1alpha1.DiscordServer) *conditions.Issue {
	ref := server.Spec.Icon.ConfigMapKeyRef
	return conditions.Degraded(v1alpha1.ReasonIconNotFound,
		"ConfigMap %[1]s of spec.icon does not exist. Create it with the image: "+
			"`kubectl create configmap %[1]s -n %[2]s --from-file=%[3]s=FILE`.",
		ref.Name, server.Namespace, ref.Key)
}

func iconUnusable(server *v1alpha1.DiscordServer, why string) *conditions.Issue {
	ref := server.Spec.Icon.ConfigMapKeyRef
	return conditions.Degraded(v1alpha1.ReasonIconUnusable, "The value of the key %q in ConfigMap %s (spec.icon) %s.",
		ref.Key, ref.Name, why)
}

func desiredIcon(server *v1alpha1.DiscordServer, s State) (*string, *conditions.Issue) {
	guild := &s.Snapshot.Guild
	switch {
	case server.Spec.Icon == nil:
		return nil, nil
	case s.Icon.Issue != nil:
		return nil, s.Icon.Issue
	case s.Icon.Animated && imageOf(server.Status.Icon, guild.Icon) != s.Icon.Hash &&
		!slices.Contains(guild.Features, animatedIcons):
		return nil, iconUnusable(server, "is animated, which Discord allows only in servers with boosts. "+
			"Use an image of one frame, or boost the server")
	}
	return &s.Icon.Hash, nil
}

// imageOf returns the source image's hash if the operator has set the icon that Discord shows now,
// and otherwise Discord's hash.
func imageOf(set *v1alpha1.ServerIconStatus, discordHash string) string {
	if set != nil && discordHash != "" && set.DiscordHash == truncated(discordHash) {
		return set.SourceHash
	}
	return discordHash
}

// After a crash, editIcon may upload an icon again: only the status records the image's hash.
func (r *Reconciler) editIcon(
	ctx context.Context, server *v1alpha1.DiscordServer, s State, p Plan, results *Results,
) error {
	hash, changes := p.Icon.Get()
	if !changes {
		return nil
	}
	icon := s.Icon
	if icon.dataURI == "" {
		var err error
		if icon, err = r.readIcon(ctx, server); err != nil || icon.Hash != hash {
			return err // a changed ConfigMap causes another reconcile
		}
	}
	edit := discordclient.GuildEdit{Icon: discordclient.Set(icon.dataURI)}
	guild, err := s.Bot.EditGuild(ctx, s.GuildID, edit, lifecycle.Reason(Kind, server))
	if err != nil {
		return err
	}
	set := server.Status.Icon
	drift := set != nil && set.SourceHash == hash && status.Reconciled(server)
	before, after := imageOf(set, s.Snapshot.Guild.Icon), imageOf(set, guild.Icon)
	if after == guild.Icon && after != "" {
		after = hash
	}
	results.Guild, results.Changed = &guild, true
	as := func(hash string) map[string]string { return map[string]string{iconField: hash} }
	_, ignored := r.Records.Answered(server, Rows, []string{iconField}, as(hash), as(before), as(after))
	if after == hash {
		results.Icon = &v1alpha1.ServerIconStatus{SourceHash: hash, DiscordHash: truncated(guild.Icon)}
		if drift {
			r.Status.DriftCorrected(server, iconField)
		}
	}
	return resource.NotApplied(ignored)
}
